"""Tolerances of all subpackages, each with the reason for its value.

A tolerance decides from which difference on two computed numbers count as different,
or when an iteration has converged. Every tolerance has one name and one value. Numbers
are relative to the size of the compared numbers unless the text names another unit.

Some tolerances depend on the data, so functions derive them from these constants. They
stay in the modules that use them: `core.ties.tie_tolerance` and `cosine_rounding`,
`linalg.duplicates.resolution`, `linalg.nearest.tie_of`, `model.drift.rounding_bound`,
`movements.twins.copy_tolerance`, `solvers.svd.zero_below`,
`canonical.quadratic_forms.form_rounding` and `comparison.sameness.row_rounding`. Error
bounds that are multiples of `EPS` stay in the formulas that they bound. Effects, such
as the movement of cosines that is worth a finding, are no tolerances;
they stand in `auditing.effect`.
"""

import math
import sys

# Number formats and the numerical contract

EPS = sys.float_info.epsilon
"""Spacing of float64 at 1, so one operation changes a number by half of it at most."""
FLOAT32_SPACING = 2.0**-23
"""Spacing of float32 at 1. Models are usually computed in float32."""
SMALLEST_MAGNITUDE = 1e-100
"""Smallest length of the longest row, and smallest largest entry, that is accepted.

A product of two such lengths and the square of a condition number of 1e6 stays far
above the smallest number of float64, 1e-308.
"""
LARGEST_MAGNITUDE = 1e100
"""Largest length, entry or bias that is accepted.

Products of two of them and a squared condition number stay far below 1e308.
"""
FLOAT32_MAGNITUDE = 1e12
"""The same for float32; the smallest length is its inverse.

A product of two lengths and a squared condition number has to stay below 1e38. A
matrix of larger entries is scaled before its SVD.
"""
SAFE_SQUARE = 1e-140
"""Length below which squares of entries lose digits, so the row is scaled first.

Above the inverse of this length squares can overflow.
"""
LARGEST_CONDITION = 1e6
"""Condition number κ of gauges up to which the numerical contract holds."""
TIE = 1e-9
"""Largest difference of equal numbers, relative to their size or to 1.

Rounding moves a computed cosine by about 1e-15 to 1e-12, depending on the number of
columns and on the condition number of a gauge. The numerical contract of the package is
1e-9, so a smaller difference says nothing: cosines tie, a cosine is within its range, a
gauge is within its budget, and two rows have one direction.
"""
FLOAT32_TIE = 1e-6
"""Largest difference of equal numbers of size 1 that were computed in float32.

It is about eight spacings of float32. Cosines of rows that moved by such rounding
alone differ by less.
"""

# Rounding of computed numbers

FLOAT32_ORTHONORMAL = 1e-4
"""Largest difference of a product of two orthonormal rows of float32 from 0 or 1.

FAISS allows 4e-5 when it checks a rotation.
"""
ROUNDING = 1e-12
"""Relative rounding of a length, sum or quotient, with a wide margin.

It is 4,500 eps. What is left of a difference of two rows below this share of their
lengths is rounding and has no direction.
"""
ROW_ROUNDING = 64 * EPS
"""Rounding of a number that a few operations compute from one or two unit rows.

The entries of unit rows have errors of a few eps, which turn a row by about as much.
Rows are parallel if the tangent of half their angle is at most this, opposite if its
reciprocal is, and orthogonal if their complement is. Tangents of certificates, ratios
of coordinates, and whitened rows have this relative rounding.
"""
EQUAL_ROWS = 256 * EPS
"""Equal rows differ by at most this share of the longest row, equal biases of the
largest bias.

Rows that differ only by the order of the operations that made them are within it.
"""
LEAST_COSINE_ROUNDING = 1e-13
"""Smallest rounding of a cosine that neighbour lists allow for.

Rows of few columns have less rounding themselves, but a rotation adds some.
"""
CONSTANT_VARIANCE = 1e-13
"""Variance, as a share of the mean square, up to which numbers are constant.

Subtracting a group mean of size 1 / √share leaves a relative error of 2e-16 / √share
in a deviation. Above this share the error is below 1e-9, the tolerance of ties.
"""
EIGENVALUE_ROUNDING = 1e-14
"""Sums of eigenvalues of Gram matrices below this share of the largest are rounding.

The matrices themselves are computed with errors of some eps of the largest eigenvalue.
"""
NO_GAP = 1e-14
"""Sum of the gaps between a cosine and its blocks up to which there is no gap."""
SIGN_CHANGE = 1e-12
"""A cosine changed its sign if the product of both cosines is below minus this.

Two cosines of size 1e-6 have such a product. Smaller ones are zero for any use, and
their sign can be rounding.
"""
BALL_MARGIN = 1e-15
"""Lower bound of 1 − ‖x‖² in the Poincaré ball.

Rows on the boundary cause no division by zero. The difference itself is rounded by eps.
"""
BOUND_ROUNDING = 1e-6
"""Rounding of a bound, in units of the last decimal that is printed.

A bound is rounded outward; one that exceeds a printed number by less is this number.
"""

# Ranges of cosines

COLLINEAR = 1e-8
"""Sine of the angle of a row to a line up to which the row lies on the line.

It is about √eps: to take a row for one on the line errs by the angle, and the direction
of what lies outside of the line has an error of eps over the angle.
"""
CONVERGED_COSINE = 1e-11
"""A cosine this close below its upper bound is exact.

It is a hundredth of the contract of 1e-9, and far above the rounding of a cosine.
"""
PAST_ROW = 2.0**-31
"""Relative excess of a witness over the longest shift, to move a row past the origin.

A shift that is longer than a row by less than rounding points the row anywhere, but
sums in float64 cannot show this. Budgets allow for `TIE`, which is twice this excess.
"""

# Singular values

GRAM_RESOLVED = 1e-6
"""Singular values below this share of the largest are lost in the Gram matrix.

The Gram matrix holds their squares, 1e-12 of the largest, of which rounding of some
hundred eps leaves few digits.
"""
SINGULAR_VALUE_ERROR = 1e-8
"""Estimated relative error of singular values up to which they count as exact."""
KRYLOV_ERROR = 1e-9
"""Estimated relative error of the singular values at which the iteration stops.

It is a tenth of `SINGULAR_VALUE_ERROR`, so that residuals in float64 confirm that one.
"""
KRYLOV_VECTOR_ERROR = 1e-6
"""Error of singular vectors of the Krylov iteration, relative to their largest entry.

Vectors of all routes agree within it, so the first entry that is the largest within it
gets the positive sign on every route.
"""

# Forms that models are written in

EXACT_SHAPE = 1e-3
"""Largest deviation from a shape that a training or library writes exactly.

It is a difference of lengths from 1 or from each other, relative to the longest, or of
cosines from 0. Rows that were rounded to float16 or written with a few digits stay
below it.
"""
STATEMENT_ERROR = 1e-10
"""Largest deviation with which a statement of a paper counts as reproduced.

The statements are equations, so only rounding of a chain of matrix products is allowed.
"""

# Forms and spans of a model

FAINT_DIRECTION = math.sqrt(EPS)
"""Singular value of the scores, as a share of the largest, that counts as faint.

A canonical gauge keeps such directions unchanged, because the scores hold nothing of
them that is above the rounding of their squares.
"""
EXPONENT_ERROR = 1e-6
"""Error of the exponent of the nearest canonical form, which lies between 0 and 1."""
FULL_SPAN = 1e-5
"""Least singular value of a full span, as a share of the largest.

Below it some metric keeps every length to five digits, which is more than training in
float32 shows, whatever the rows are stored in. So the span is neither full nor short.
"""
SPAN_RESIDUAL = 1e-8
"""Relative residual at which a drawn form counts as one of the span.

If one form in N vanishes on all rows, the residual of a Gaussian form is below it with
a probability of about `SPAN_RESIDUAL √N`, 1e-6 at most.
"""
FRAME_RESIDUAL = 1e-10
"""Largest distance of `Σ wᵢ uᵢ uᵢᵀ` from the identity for weights that solve it.

It is above the rounding of a solution, and far below the loss that a proof allows,
`FRAME_LOSS` and `HIDING_FRAME_LOSS`.
"""
FORM_SIZE = 1e-6
"""Norm below which the part of a form that vanishes on all rows is not a direction.

The form has entries of size 1, and dividing by less would enlarge its rounding.
"""
USED_SHARE = LARGEST_CONDITION**-2
"""Share of the squared length of a row by which it clearly uses a dimension.

A gauge of condition number 1e6 leaves 1e-12 in a dimension that a row of the same
length uses in full.
"""
FLOAT32_SHARE = 1e-14
"""Bound of the share of the squared length of a row that rounding to float32 leaves
outside its span, which is at most `(2⁻²⁴)²` = 3.6e-15."""
MIN_MOVEMENT = 1e-3
"""Smallest ``|Δcos|`` that shows freedom.

Rounding in a constraint that only bends leaves its fourth root, and a metric of
condition number exp(t), which a proof may leave open, moves no cosine by more than t.
"""
FRAME_LOSS = (MIN_MOVEMENT / 4.5) ** 2
"""Largest r ε for which tight frames prove that no cosine moves by `MIN_MOVEMENT`.

The frames lie in r dimensions, and every row holds at most the share ε of its squared
length outside of them. The bound is `4 √(r ε)` and terms of order r ε.
"""
HIDING_FRAME_LOSS = (MIN_MOVEMENT / 13.5) ** 2
"""Largest r ε for which they prove the same if a softmax hides a number per left row.

The bound is `12 √(r ε)` then.
"""

# Heads and attacks

ARGMAX_MARGIN = 1e-6
"""Leads up to this many standard deviations of the logits count as rounding."""
LEAST_STEP = 1e-4
"""Step of an attack, as a share of its budget, below which the search stops.

The first step is half of the budget, so 13 losses in a row end the search.
"""

# Comparison of two models

SAME_SCORES = 1e-5
"""Relative distance up to which scores count as the same: float32 stays below."""
EXPLAINED_SPREAD = 1e-8
"""Share of the spread below which a gauge explains all that float32 can show."""
MAX_STRETCHED_ROUNDING = 0.01
"""Largest rounding times κ of a gauge. Above it, rounding hides too much for a
proof."""
PRINTED_COSINE = 0.005
"""Smallest mean |Δcos| that two decimals show: half a unit of the second decimal."""
