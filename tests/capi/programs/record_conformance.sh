#!/bin/sh
# Records what conformance.c, rest.c and bindings.c print with TensorFlow 1.15.5 itself, whose Python package has the C API inside.
# usage: record_conformance.sh PYTHON3.7 INCLUDE, with the Python that has tensorflow==1.15.5 and the include folder of `penstock capi --build`
set -e
cd "$(dirname "$0")"
package=$("$1" -c 'import os, tensorflow_core; print(os.path.dirname(tensorflow_core.__file__))')
library=$("$1" -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR") + "/" + sysconfig.get_config_var("INSTSONAME"))')
program=$(mktemp)
for name in conformance rest bindings; do
    gcc -std=c11 -D_GNU_SOURCE -I"$2" $name.c -o "$program" "$package/python/_pywrap_tensorflow_internal.so" \
        "$package/libtensorflow_framework.so.1" -Wl,-rpath,"$package" -Wl,-rpath,"$package/python" -Wl,--unresolved-symbols=ignore-all -lm
    LD_PRELOAD="$library" "$program" > $name.txt
done
rm "$program"
