"""Layouts: which array is which field of a model, by the names that libraries use.

How named arrays become the fields of a model, in the order in which it happens:

1. `recipes`: `RECIPES`, the ordered list of layouts that are known, one per library or
   convention, and `beside`: the names of biases, ids, names and counts. To add a
   library, add its recipe there.
2. `choosing`: `choose` takes the arrays that the caller names. Otherwise it tries the
   recipes of two tables (`pairs`), of heads (`heads`) and of vectors (`one_table`). Two
   readings of equal rank are a question to the caller.
3. `checks`: `CHECKS`, the ordered list of checks of what would make the chosen reading
   wrong, such as a bias under an unknown name. Each check raises its own error.
4. `reading`: `contents_of` turns the arrays into the fields of a model: transposed,
   flattened, and completed with the facts that `checkpoints` finds next to a head.

Names and shapes decide, so only headers are read. Numbers are read when a model is
built of the fields.
"""
