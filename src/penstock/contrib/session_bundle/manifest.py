"""What a session bundle says of its model, as protocol buffers: ``tf.contrib.session_bundle.manifest_pb2``. Field numbers are TensorFlow's."""
from __future__ import annotations

from penstock.platform.proto import messages

Signatures, Signature, RegressionSignature, ClassificationSignature, GenericSignature, TensorBinding, AssetFile = messages(
    "session_bundle_manifest.proto", """
    message Signatures { Signature default_signature = 1; map<string, Signature> named_signatures = 2; }
    message Signature {
        oneof type {
            RegressionSignature regression_signature = 1; ClassificationSignature classification_signature = 2;
            GenericSignature generic_signature = 3;
        }
    }
    message RegressionSignature { TensorBinding input = 1; TensorBinding output = 2; }
    message ClassificationSignature { TensorBinding input = 1; TensorBinding classes = 2; TensorBinding scores = 3; }
    message GenericSignature { map<string, TensorBinding> map = 1; }
    message TensorBinding { string tensor_name = 1; }
    message AssetFile { TensorBinding tensor_binding = 1; string filename = 2; }
    """, "Signatures", "Signature", "RegressionSignature", "ClassificationSignature", "GenericSignature", "TensorBinding", "AssetFile",
    package="tensorflow.serving")
