"""SavedModels: graphs with signatures, the values of their variables and the files they need, in a folder that another process can serve from."""
