"""Data of slim: data sets, their decoders, and providers that read them through queues."""
