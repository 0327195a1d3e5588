"""Pictures: codecs, colours, resizing, boxes."""
