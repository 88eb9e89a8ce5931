"""What proves each claim that an audit calls shown or proven, for a checker that knows nothing but the model."""
