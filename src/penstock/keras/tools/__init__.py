"""Tools around models: pictures of them, copies on several devices, data in HDF5 files. They stand above models; ``utils/`` stands below."""
