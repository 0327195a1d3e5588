"""The cases of ``placement_runs.py``: each makes a resource under the device ``here`` and uses it under the device ``there``."""
import os

# --- variables -------------------------------------------------------------------------------------------------------

def reference_variable(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=False)
    with tf.device(there):
        return [v.initializer, tf.assign_add(v, [1.0, 1.0]), tf.scatter_add(v, [0], [5.0]), v.read_value(), tf.gather(v, [1]),
                tf.is_variable_initialized(v), v * 2.0]


def resource_variable(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)
    with tf.device(there):
        return [v.initializer, v.assign_add([1.0, 1.0]), v.scatter_nd_add([[0]], [5.0]), v.read_value(), v.sparse_read([1]),
                v.is_initialized(), tf.raw_ops.VariableShape(input=v.handle), v * 2.0]


def handle_of_a_variable(tf, here, there):
    with tf.device(here):
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="placed_handle")
    with tf.device(there):
        return [tf.raw_ops.AssignVariableOp(resource=handle, value=[1.0, 2.0]), tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32),
                tf.raw_ops.ResourceGather(resource=handle, indices=[1], dtype=tf.float32), tf.raw_ops.VarIsInitializedOp(resource=handle),
                tf.raw_ops.DestroyResourceOp(resource=handle), tf.raw_ops.VarIsInitializedOp(resource=handle)]


def one_name_on_two_devices(tf, here, there):
    handles = []
    for device in (here, there):
        with tf.device(device):
            handles.append(tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="placed_twice"))
    writes = [tf.raw_ops.AssignVariableOp(resource=handle, value=value) for handle, value in zip(handles, (1.0, 2.0))]
    return writes + [tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) for handle in handles]


def identity_of_a_handle(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)
    with tf.device(there):
        handle = tf.identity(v.handle)
        return [v.initializer, tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)]


def identities_on_both_sides(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)
    with tf.device(there):
        handle = tf.identity(v.handle)
    with tf.device(here):
        handle = tf.identity(handle)
    return [v.initializer, tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)]


def packed_handles(tf, here, there):
    handles = []
    for device in (here, there):
        with tf.device(device):
            v = tf.Variable([1.0, 2.0], use_resource=True)
            handles.append(v.handle)
    return [tf.global_variables_initializer(), tf.raw_ops.ReadVariableOp(resource=tf.stack(handles)[1], dtype=tf.float32)]


def chosen_handle(tf, here, there):
    with tf.device(here):
        a, b = [tf.Variable([value], use_resource=True) for value in (1.0, 2.0)]
    with tf.device(there):
        handle = tf.cond(tf.constant(True), lambda: a.handle, lambda: b.handle)
        return [tf.global_variables_initializer(), tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)]


def handles_of_two_devices_in_a_cond(tf, here, there):
    with tf.device(here):
        a = tf.Variable([1.0], use_resource=True)
    with tf.device(there):
        b = tf.Variable([2.0], use_resource=True)
    handle = tf.cond(tf.constant(True), lambda: a.handle, lambda: b.handle)
    return [tf.global_variables_initializer(), tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)]


def read_in_a_cond(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)
    with tf.device(there):
        return [v.initializer, tf.cond(tf.constant(True), lambda: v.assign_add([1.0, 1.0]), lambda: v.read_value()), v.read_value()]


def written_in_a_loop(tf, here, there):
    with tf.device(here):
        v = tf.Variable(1.0, use_resource=True)
        w = tf.Variable(1.0, use_resource=False)
    with tf.device(there):
        def body(i):
            with tf.control_dependencies([v.assign_add(1.0), tf.assign_add(w, 2.0)]):
                return i + 1
        return [tf.global_variables_initializer(), tf.while_loop(lambda i: i < 3, body, [0]), v.read_value(), w.read_value()]


def called_with_a_handle(tf, here, there):
    from tensorflow.python.framework import function
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)

    @function.Defun(tf.resource)
    def doubled(handle):
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) * 2.0

    with tf.device(there):
        return [v.initializer, doubled(v.handle)]


def captured_by_a_function(tf, here, there):
    from tensorflow.python.framework import function
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)

    @function.Defun(tf.float32)
    def scaled(x):
        return v * x

    with tf.device(there):
        return [v.initializer, scaled(3.0)]


def fetched(tf, here, there):
    with tf.device(here):
        v, q = tf.Variable([1.0, 2.0], use_resource=True), tf.FIFOQueue(9, tf.float32, ((),))
    with tf.device(there):
        w = tf.Variable([1.0, 2.0], use_resource=True)

    def use(session):
        values = session.run([v.handle, w.handle, q.queue_ref])
        return [[str(value.dtype), value.ndim, bool(value.size), v.device.encode() in value.tobytes()] for value in values]

    return [v.initializer, use]


def fetched_and_fed(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)
        fed = tf.placeholder(tf.resource, [])
        read = tf.raw_ops.ReadVariableOp(resource=fed, dtype=tf.float32)
    return [v.initializer, lambda session: session.run(read, {fed: session.run(v.handle)})]


def fetched_and_fed_elsewhere(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)
    with tf.device(there):
        fed = tf.placeholder(tf.resource, [])
        read = tf.raw_ops.ReadVariableOp(resource=fed, dtype=tf.float32)
    return [v.initializer, lambda session: session.run(read, {fed: session.run(v.handle)})]


def fed_under_no_device(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)
    fed = tf.placeholder(tf.resource, [])
    read = tf.raw_ops.ReadVariableOp(resource=fed, dtype=tf.float32)
    return [v.initializer, lambda session: session.run(read, {fed: session.run(v.handle)})]


def optimized(tf, here, there):
    with tf.device(here):
        v, w = tf.Variable([1.0, 2.0], use_resource=True), tf.Variable([1.0, 2.0], use_resource=False)
    with tf.device(there):
        train = tf.train.MomentumOptimizer(0.5, 0.9).minimize(tf.reduce_sum(v * v + w * w))
    return [tf.global_variables_initializer(), train, train, v.read_value(), w.read_value()]


# --- queues and their kin --------------------------------------------------------------------------------------------

def _queue(make, values, many=1):
    def case(tf, here, there):
        with tf.device(here):
            q = make(tf)
        with tf.device(there):
            return [q.enqueue(value) for value in values] + [q.size(), q.dequeue_many(many), q.dequeue(), q.close(), q.is_closed(), q.dequeue()]
    return case


fifo_queue = _queue(lambda tf: tf.FIFOQueue(9, tf.float32, ((),)), [1.0, 2.0, 3.0])
shared_queue = _queue(lambda tf: tf.FIFOQueue(9, tf.float32, ((),), shared_name="placed_queue"), [1.0, 2.0, 3.0])
padding_queue = _queue(lambda tf: tf.PaddingFIFOQueue(9, tf.float32, [[None]]), [[1.0], [2.0, 3.0], [4.0]], 2)
shuffle_queue = _queue(lambda tf: tf.RandomShuffleQueue(9, 0, tf.float32, ((),), seed=3), [1.0, 1.0, 1.0])
priority_queue = _queue(lambda tf: tf.PriorityQueue(9, tf.string, ((),)), [(5, "a"), (2, "b"), (3, "c")])


def one_of_two_queues(tf, here, there):
    with tf.device(here):
        a, b = tf.FIFOQueue(9, tf.float32, ((),)), tf.FIFOQueue(9, tf.float32, ((),))
    with tf.device(there):
        q = tf.QueueBase.from_list(1, [a, b])
        return [b.enqueue(3.0), q.size(), q.dequeue()]


def queues_of_two_devices(tf, here, there):
    with tf.device(here):
        a = tf.FIFOQueue(9, tf.float32, ((),))
    with tf.device(there):
        b = tf.FIFOQueue(9, tf.float32, ((),))
    q = tf.QueueBase.from_list(1, [a, b])
    return [b.enqueue(3.0), q.size(), q.dequeue()]


def old_queue(tf, here, there):
    with tf.device(here):
        q = tf.raw_ops.FIFOQueue(component_types=[tf.float32], shapes=[[]])
    with tf.device(there):
        return [tf.raw_ops.QueueEnqueue(handle=q, components=[1.0]), tf.raw_ops.QueueSize(handle=q),
                tf.raw_ops.QueueDequeue(handle=q, component_types=[tf.float32])]


def queue_in_a_loop(tf, here, there):
    with tf.device(here):
        q = tf.FIFOQueue(9, tf.float32, ((),))
    with tf.device(there):
        loop = tf.while_loop(lambda i, total: i < 3, lambda i, total: (i + 1, total + q.dequeue()), [0, 0.0])
        return [q.enqueue_many([[1.0, 2.0, 3.0]]), loop, q.size()]


def stack(tf, here, there):
    with tf.device(here):
        handle = tf.raw_ops.StackV2(max_size=3, elem_type=tf.float32)
    with tf.device(there):
        push = tf.raw_ops.StackPushV2(handle=handle, elem=5.0)
        with tf.control_dependencies([push]):
            pop = tf.raw_ops.StackPopV2(handle=handle, elem_type=tf.float32)
        with tf.control_dependencies([pop]):
            return [[pop, tf.raw_ops.StackCloseV2(handle=handle)]]


def tensor_array(tf, here, there):
    with tf.device(here):
        array = tf.TensorArray(tf.float32, 3, element_shape=[], clear_after_read=False, colocate_with_first_write_call=False)
        assert array.handle is not None  # made here
    with tf.device(there):
        array = array.write(0, 1.0).write(1, 2.0).write(2, 3.0)
        return [[array.stack(), array.read(1)], array.size()]


def tensor_array_where_it_is_written(tf, here, there):
    with tf.device(here):
        array = tf.TensorArray(tf.float32, 3, element_shape=[], clear_after_read=False)
    with tf.device(there):
        array = array.write(0, 1.0).write(1, 2.0).write(2, 3.0)
    with tf.device(here):
        return [[array.stack(), array.read(1)]]


def barrier(tf, here, there):
    from tensorflow.python.ops import data_flow_ops
    with tf.device(here):
        b = data_flow_ops.Barrier((tf.float32,), shapes=((),))
    with tf.device(there):
        return [b.insert_many(0, ["a", "b"], [1.0, 2.0]), b.ready_size(), b.incomplete_size(), b.take_many(2), b.close(), b.take_many(1)]


def accumulator(tf, here, there):
    with tf.device(here):
        a = tf.ConditionalAccumulator(tf.float32, [])
    with tf.device(there):
        return [a.apply_grad(2.0), a.apply_grad(4.0), a.num_accumulated(), a.take_grad(2), a.set_global_step(3), a.num_accumulated()]


def sparse_accumulator(tf, here, there):
    with tf.device(here):
        a = tf.SparseConditionalAccumulator(tf.float32)
    with tf.device(there):
        return [a.apply_grad([0, 2], [[1.0], [2.0]]), a.num_accumulated(), a.take_grad(1)]


def staging_area(tf, here, there):
    from tensorflow.python.ops import data_flow_ops
    with tf.device(here):
        area = data_flow_ops.StagingArea([tf.float32], shapes=[[]])
    with tf.device(there):
        return [area.put([tf.constant(1.0)]), area.size(), area.get()]


def map_staging_area(tf, here, there):
    from tensorflow.python.ops import data_flow_ops
    with tf.device(here):
        area = data_flow_ops.MapStagingArea([tf.float32], shapes=[[]])
    with tf.device(there):
        key = tf.constant(3, tf.int64)
        return [area.put(key, [tf.constant(1.0)], [0]), area.size(), area.get(key)]


def critical_section(tf, here, there):
    with tf.device(here):
        section = tf.CriticalSection()
        v = tf.Variable(1.0, use_resource=True)
    with tf.device(there):
        return [v.initializer, section.execute(lambda: v.assign_add(2.0)), v.read_value()]


# --- tables ----------------------------------------------------------------------------------------------------------

def static_table(tf, here, there):
    with tf.device(here):
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    with tf.device(there):
        return [table.initializer, table.lookup(tf.constant(["b", "c"])), table.size()]


def old_table(tf, here, there):
    with tf.device(here):
        table = tf.raw_ops.HashTable(key_dtype=tf.string, value_dtype=tf.int64)
    with tf.device(there):
        return [tf.raw_ops.InitializeTable(table_handle=table, keys=["a"], values=tf.constant([3], tf.int64)),
                tf.raw_ops.LookupTableFind(table_handle=table, keys=["a", "b"], default_value=tf.constant(-1, tf.int64))]


def mutable_table(tf, here, there):
    with tf.device(here):
        table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    with tf.device(there):
        return [table.insert(["a"], tf.constant([7], tf.int64)), table.lookup(tf.constant(["a", "b"])), table.size(), table.export()]


def dense_table(tf, here, there):
    with tf.device(here):
        table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1)
    with tf.device(there):
        return [table.insert(tf.constant([4], tf.int64), tf.constant([7], tf.int64)), table.lookup(tf.constant([4, 5], tf.int64)), table.size()]


def index_table(tf, here, there):
    with tf.device(here):
        table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=1)
    with tf.device(there):
        return [tf.tables_initializer(), table.lookup(tf.constant(["b"])), table.size()]


# --- readers, iterators, datasets ------------------------------------------------------------------------------------

def reader(tf, here, there):
    with tf.device(here):
        r = tf.IdentityReader()
    with tf.device(there):
        q = tf.FIFOQueue(9, tf.string, ((),))
        return [q.enqueue_many([["x", "y"]]), r.num_records_produced()]


def reader_beside_its_queue(tf, here, there):
    with tf.device(here):
        r = tf.IdentityReader()
        q = tf.FIFOQueue(9, tf.string, ((),))
    with tf.device(there):
        return [q.enqueue_many([["x", "y"]]), r.read(q), r.num_records_produced(), r.reset(), r.num_records_produced()]


def reader_of_a_queue_elsewhere(tf, here, there):
    with tf.device(here):
        r = tf.IdentityReader()
    with tf.device(there):
        q = tf.FIFOQueue(9, tf.string, ((),))
        return [q.enqueue_many([["x", "y"]]), r.read(q)]


def one_shot_iterator(tf, here, there):
    with tf.device(here):
        iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    with tf.device(there):
        following = iterator.get_next()
        return [following, following, following, following]


def initializable_iterator(tf, here, there):
    with tf.device(here):
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(2))
    with tf.device(there):
        following = iterator.get_next()
        return [following, iterator.initializer, following, following, following]


def reinitializable_iterator(tf, here, there):
    with tf.device(here):
        iterator = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    with tf.device(there):
        start = iterator.make_initializer(tf.data.Dataset.range(5, 7))
        following = iterator.get_next()
        return [start, following, following, following]


def dataset_of_another_device(tf, here, there):
    with tf.device(here):
        dataset = tf.data.Dataset.range(5).map(lambda x: x * 2)
    with tf.device(there):
        iterator = tf.data.make_initializable_iterator(dataset.batch(2))
        following = iterator.get_next()
        return [iterator.initializer, following, following]


def string_handle(tf, here, there):
    with tf.device(here):
        made = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
        text = made.string_handle()
        fed = tf.placeholder(tf.string, [])
        chosen = tf.data.Iterator.from_string_handle(fed, tf.int64, tf.TensorShape([]))
    with tf.device(there):
        following = chosen.get_next()
    return [made.initializer, lambda session: session.run(following, {fed: session.run(text)}), made.get_next()]


def string_handle_elsewhere(tf, here, there):
    with tf.device(here):
        made = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
        text = made.string_handle()
    with tf.device(there):
        fed = tf.placeholder(tf.string, [])
        following = tf.data.Iterator.from_string_handle(fed, tf.int64, tf.TensorShape([])).get_next()
    return [made.initializer, lambda session: session.run(following, {fed: session.run(text)})]


def string_handle_in_the_graph(tf, here, there):
    with tf.device(here):
        made = tf.data.make_initializable_iterator(tf.data.Dataset.range(3))
        text = made.string_handle()
    with tf.device(there):
        following = tf.data.Iterator.from_string_handle(text, tf.int64, tf.TensorShape([])).get_next()
    return [made.initializer, following]


def buffered_function(tf, here, there):
    from tensorflow.contrib.data.python.ops import prefetching_ops
    return _buffered(tf, here, there, prefetching_ops)


def _buffered(tf, here, there, prefetching_ops):
    with tf.device(here):
        dataset = tf.data.Dataset.range(4)
    dataset = dataset.apply(prefetching_ops.copy_to_device(there, here))
    with tf.device(there):
        iterator = tf.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
    return [iterator.initializer, following, following]


def iterator_of_several_devices(tf, here, there):
    from tensorflow.python.data.ops import multi_device_iterator_ops
    with tf.device(here):
        dataset = tf.data.Dataset.range(4)
    iterator = multi_device_iterator_ops.MultiDeviceIterator(dataset, [here or there, there], source_device=here or there)
    first, second = iterator.get_next()
    return [iterator.initializer, [first, second], [first, second], [first, second]]


def optional(tf, here, there):
    with tf.device(here):
        iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(1))
        element = tf.data.experimental.get_next_as_optional(iterator)
    with tf.device(there):
        return [[element.has_value(), element.get_value()], element.has_value()]


# --- lists, kept tensors, and others ---------------------------------------------------------------------------------

def tensor_list(tf, here, there):
    from tensorflow.python.ops import list_ops
    with tf.device(here):
        items = list_ops.empty_tensor_list(element_shape=[], element_dtype=tf.float32, max_num_elements=3)
    with tf.device(there):
        items = list_ops.tensor_list_push_back(items, 1.0)
        items = list_ops.tensor_list_push_back(items, 2.0)
        return [list_ops.tensor_list_length(items), list_ops.tensor_list_stack(items, tf.float32)]


def summary_writer(tf, here, there):
    with tf.device(here):
        writer = tf.raw_ops.SummaryWriter(shared_name="placed_writer")
    with tf.device(there):
        return [tf.raw_ops.CreateSummaryFileWriter(writer=writer, logdir=_LOGDIR, max_queue=3, flush_millis=10, filename_suffix="x"),
                tf.raw_ops.WriteScalarSummary(writer=writer, step=tf.constant(1, tf.int64), tag="loss", value=1.0),
                tf.raw_ops.FlushSummaryWriter(writer=writer), tf.raw_ops.CloseSummaryWriter(writer=writer)]


def sparse_map(tf, here, there):
    with tf.device(here):
        handles = tf.raw_ops.AddManySparseToTensorsMap(sparse_indices=tf.constant([[0, 1], [1, 0]], tf.int64), sparse_values=[3, 4],
                                                       sparse_shape=tf.constant([2, 2], tf.int64), shared_name="placed_map")
    with tf.device(there):
        taken = tf.raw_ops.TakeManySparseFromTensorsMap(sparse_handles=handles, dtype=tf.int32, shared_name="placed_map")
    return [taken.sparse_values]


def kept_tensor(tf, here, there):
    with tf.device(here):
        handle = tf.get_session_handle(tf.constant([1.0, 2.0]))

    def use(session):
        kept = session.run(handle)
        with tf.device(there):
            holder, value = tf.get_session_tensor(kept.handle, tf.float32)
            twice = value * 2.0
        return session.run(twice, {holder: kept.handle})

    return [use]


def mutex(tf, here, there):
    with tf.device(here):
        made = tf.raw_ops.MutexV2()
    with tf.device(there):
        return [tf.raw_ops.ConsumeMutexLock(mutex_lock=tf.raw_ops.MutexLock(mutex=made))]


def quantiles(tf, here, there):
    with tf.device(here):
        handle = tf.raw_ops.BoostedTreesQuantileStreamResourceHandleOp(shared_name="placed_quantiles")
    with tf.device(there):
        return [tf.raw_ops.BoostedTreesCreateQuantileStreamResource(quantile_stream_resource_handle=handle, epsilon=0.01,
                                                                    num_streams=tf.constant(1, tf.int64)),
                tf.raw_ops.IsBoostedTreesQuantileStreamResourceInitialized(quantile_stream_resource_handle=handle),
                tf.raw_ops.BoostedTreesQuantileStreamResourceAddSummaries(quantile_stream_resource_handle=handle,
                                                                          summaries=[[[1.0, 1.0, 0.0, 1.0], [2.0, 1.0, 1.0, 2.0]]]),
                tf.raw_ops.BoostedTreesQuantileStreamResourceFlush(quantile_stream_resource_handle=handle, num_buckets=tf.constant(2, tf.int64)),
                tf.raw_ops.BoostedTreesQuantileStreamResourceGetBucketBoundaries(quantile_stream_resource_handle=handle, num_features=1)]


def users_of_two_devices(tf, here, there):
    v = tf.Variable([1.0, 2.0], use_resource=True)
    q = tf.FIFOQueue(9, tf.float32, ((),))
    with tf.device(here):
        fetches = [v.initializer, v.assign_add([1.0, 1.0]), q.enqueue(3.0)]
    with tf.device(there):
        return fetches + [v.read_value(), q.size(), q.dequeue(), tf.raw_ops.VariableShape(input=v.handle)]


def users_of_two_devices_by_reference(tf, here, there):
    v = tf.Variable([1.0, 2.0], use_resource=False)
    with tf.device(here):
        first = tf.raw_ops.AssignAdd(ref=v, value=[1.0, 1.0])
    with tf.device(there):
        return [v.initializer, first, tf.raw_ops.AssignAdd(ref=v, value=[2.0, 2.0]), v.read_value()]


def raw_assignment_elsewhere(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=False)
    with tf.device(there):
        return [v.initializer, tf.raw_ops.AssignAdd(ref=v, value=[2.0, 2.0]), tf.raw_ops.Identity(input=v._variable)]


def fed_by_a_callable(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=True)
        fed = tf.placeholder(tf.resource, [])
        read = tf.raw_ops.ReadVariableOp(resource=fed, dtype=tf.float32)
    return [v.initializer, lambda session: session.make_callable(read, [fed])(session.run(v.handle))]


def old_handles_fetched(tf, here, there):
    with tf.device(here):
        q = tf.raw_ops.FIFOQueue(component_types=[tf.float32], shapes=[[]])
    with tf.device(there):
        return [tf.raw_ops.QueueSize(handle=q), lambda session: [str(session.run(q).dtype), list(session.run(q).shape)]]


def colocated(tf, here, there):
    with tf.device(here):
        v = tf.Variable([1.0, 2.0], use_resource=False)
    with tf.device(there), tf.colocate_with(v.op):
        doubled = v * 2.0
    return [v.initializer, doubled]


def destroyed_elsewhere(tf, here, there):
    with tf.device(here):
        q = tf.FIFOQueue(9, tf.float32, ((),), shared_name="placed_destroyed")
        v = tf.Variable(1.0, use_resource=True)
    with tf.device(there):
        return [v.initializer, tf.raw_ops.DestroyResourceOp(resource=v.handle, ignore_lookup_error=False), v.is_initialized(),
                q.enqueue(1.0), q.size()]


_LOGDIR = os.path.join(os.environ.get("TMPDIR", "/tmp"), "placed_summaries")
CASES = {name: value for name, value in list(globals().items()) if callable(value) and not name.startswith("_")}
