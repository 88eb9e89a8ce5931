"""Tables: their columns, and what people keep in them beside a model."""
