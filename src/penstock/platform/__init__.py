"""What programs use of the machine: flags, files, messages, text and bytes. Knows nothing of graphs."""
