"""``tf.train``: optimizers, savers, sessions that recover, input queues."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.summary.reading": "summary_iterator",
    "penstock.summary.file_writer": "SummaryWriter=FileWriter SummaryWriterCache=FileWriterCache",
    "penstock.train.optimizer": "Optimizer",
    "penstock.train.rules": "GradientDescentOptimizer MomentumOptimizer AdagradOptimizer AdagradDAOptimizer AdadeltaOptimizer AdamOptimizer "
                            "RMSPropOptimizer FtrlOptimizer ProximalGradientDescentOptimizer ProximalAdagradOptimizer",
    "penstock.train.decay": "exponential_decay natural_exp_decay inverse_time_decay polynomial_decay piecewise_constant "
                            "piecewise_constant_decay=piecewise_constant cosine_decay cosine_decay_restarts linear_cosine_decay "
                            "noisy_linear_cosine_decay",
    "penstock.train.moving_averages": "ExponentialMovingAverage",
    "penstock.train.global_step": "global_step get_global_step create_global_step get_or_create_global_step assert_global_step",
    "penstock.train.coordinator": "Coordinator LooperThread",
    "penstock.train.queue_runner": "QueueRunner add_queue_runner start_queue_runners",
    "penstock.train.queue_runner:": "queue_runner",
    "penstock.train.input": "match_filenames_once limit_epochs input_producer string_input_producer range_input_producer slice_input_producer",
    "penstock.train.batching": "batch maybe_batch batch_join maybe_batch_join shuffle_batch maybe_shuffle_batch shuffle_batch_join "
                               "maybe_shuffle_batch_join",
    "penstock.checkpoint.protos": "CheckpointState",
    "penstock.keras.saving.checkpoint": "Checkpoint CheckpointManager",
    "penstock.checkpoint.checkpoint_state": "latest_checkpoint get_checkpoint_state update_checkpoint_state generate_checkpoint_state_proto "
                                 "checkpoint_exists remove_checkpoint get_checkpoint_mtimes",
    "penstock.checkpoint.contents": "CheckpointReader NewCheckpointReader=new_checkpoint_reader load_checkpoint load_variable list_variables",
    "penstock.api.sdca": "sdca_fprint sdca_optimizer sdca_shrink_l1",
    "penstock.train.saver": "Saver export_meta_graph import_meta_graph",
    "penstock.train.meta_graph": "write_graph",
    "penstock.checkpoint.new_checkpoints": "checkpoints_iterator",
    "penstock.train.restore_init": "init_from_checkpoint",
    "penstock.train.warm_start": "warm_start VocabInfo",
    "penstock.graph.input_proto": "QueueRunnerDef",
    "penstock.graph.example_proto": "BytesList FloatList Int64List Feature Features FeatureList FeatureLists Example SequenceExample",
    "penstock.train.device_setter": "replica_device_setter",
    "penstock.train.session_run_hook": "SessionRunHook SessionRunArgs SessionRunContext SessionRunValues",
    "penstock.train.hook_timers": "SecondOrStepTimer",
    "penstock.train.basic_hooks": "StopAtStepHook LoggingTensorHook NanTensorHook NanLossDuringTrainingError GlobalStepWaiterHook "
                                  "FinalOpsHook FeedFnHook",
    "penstock.train.file_hooks": "CheckpointSaverHook CheckpointSaverListener SummarySaverHook StepCounterHook",
    "penstock.debug.profiler_hook": "ProfilerHook",
    "penstock.train.scaffold": "Scaffold SessionCreator ChiefSessionCreator WorkerSessionCreator",
    "penstock.train.session_manager": "SessionManager",
    "penstock.train.monitored_session": "MonitoredSession SingularMonitoredSession",
    "penstock.train.monitored_training": "MonitoredTrainingSession",
    "penstock.train.supervisor": "Supervisor",
    "penstock.train.basic_loops": "basic_train_loop",
    "penstock.train.sync_replicas": "SyncReplicasOptimizer SyncReplicasOptimizerV2=SyncReplicasOptimizer",
    "penstock.api.train_experimental:": "experimental",
    "penstock.distributed.cluster_spec": "ClusterSpec",
    "penstock.distributed.server": "Server",
    "penstock.distributed.server_def": "ServerDef",
    "tensorboard.compat.proto.cluster_pb2": "ClusterDef JobDef",
    "tensorboard.compat.proto.saver_pb2": "SaverDef",
}
publish(__name__, TABLE, older={"SummaryWriter": "summary.FileWriter", "SummaryWriterCache": "summary.FileWriterCache",
                                 "SyncReplicasOptimizerV2": "train.SyncReplicasOptimizer"})
