"""Theano's names, which PyTensor has, too.

A line is ``call | what it is here``, or ``names : what to use``; operands are named as in
:mod:`agnesi.compat.hints.torch`.
"""

THEANO = """
shared_randomstreams rng_mrg : `ag.symbolic.RandomStreams(seed)`
ifelse : `ag.cond`, or `ag.symbolic.ifelse`
foldl foldr : `ag.scan`
printing dprint pprint : `print(f.graph)`
disconnected_grad zero_grad consider_constant : `ag.stop_gradient`
gof graph : `ag.Op`, `ag.rewrite`
Variable : `ag.symbolic.Variable`
tensor3 scalar vector : `ag.symbolic.tensor3`, `ag.symbolic.scalar`, `ag.symbolic.vector`
matrix : `ag.symbolic.matrix` for symbols; `ag.tensor`, whose `@` multiplies matrices, for numbers
Mode get_mode : `ag.function(..., optimizer='fast_compile')`, with exclude= and include=
Out : `ag.function`, whose results are new at each call
pullback pushforward : `ag.vjp`, `ag.jvp`
wrap_jax wrap_py as_op : `ag.op`, `ag.callback`
"""

TENSOR = """
bartlett bincount choose compress cov deg2rad divmod fill_diagonal flatnonzero geomspace i0
    identity interp isneginf isposinf matvec mgrid ogrid ptp rad2deg ravel_multi_index tri
    tril_indices tril_indices_from triu_indices triu_indices_from unravel_index vecmat : `ag.{0}`,
    which takes symbols, too
scalar_from_tensor tensor_from_scalar : the tensor itself, whose shape is `()`
transfer : `ag.Tensor.to`, of the one device
nnet signal : `ag.nn.functional`, which takes symbols, too
nlinalg slinalg : `ag.linalg`, which takes symbols, too
as_tensor(x) | ag.asarray(x)
erfcx(t) | ag.special.erfcx(t)
expit(t) | ag.sigmoid(t)
NoneConst NoneSliceConst none_type_t make_slice slicetype slice_at_axis : `None`, `slice`
Op TensorType TensorVariable TensorConstant TensorLike : `ag.Op`, `ag.Tensor`, `T.Variable`,
    `T.Constant`
and_ or_ xor : `ag.bitwise_and`, `ag.bitwise_or`, `ag.bitwise_xor`
as_tensor_variable(x) | ag.asarray(x)
atleast_Nd : `ag.atleast_1d`, `ag.atleast_2d`, `ag.atleast_3d`
batched_dot(c, d) | c @ d
batched_tensordot : `ag.einsum`
betainc(t, t, t) | ag.special.betainc(t, t, t)
betaincinv(t, t, t) | ag.special.betaincinv(t, t, t)
broadcast_shape broadcast_shape_iter : `ag.broadcast_shapes`
btensor6 btensor7 ctensor6 ctensor7 dtensor6 dtensor7 ftensor6 ftensor7 itensor6 itensor7 ltensor6
    ltensor7 tensor6 tensor7 wtensor6 wtensor7 ztensor6 ztensor7 : `T.variable('float64', 6)`
cast(x, 'int64') | x.astype('int64')
ceil_intdiv(j, 2) | -(-j // 2)
chi2sf(t, 2.0) | ag.special.chdtrc(2.0, t)
complex_from_polar(t, t) | ag.polar(t, t)
concat_with_broadcast : `ag.concat` of `ag.broadcast_to`
constant : `ag.asarray(x)`
tensor_copy(x) | x.copy()
dense_dot(x, d[0]) | ag.dot(x, d[0])
erfcinv(t) | ag.special.erfcinv(t)
extract_diag(s) | ag.diagonal(s)
fill(x, 5.0) | ag.full_like(x, 5.0)
fill_diagonal_offset : `ag.set_subtensor(x.diagonal(1), value)`
floor_div int_div : `ag.floor_divide`
true_div(x, y) | ag.divide(x, y)
gamma(t) | ag.special.gamma(t)
gammainc(t, t) | ag.special.gammainc(t, t)
gammaincc(t, t) | ag.special.gammaincc(t, t)
gammainccinv(t, t) | ag.special.gammainccinv(t, t)
gammaincinv(t, t) | ag.special.gammaincinv(t, t)
gammal(t, t) | ag.special.gammainc(t, t) * ag.special.gamma(t)
gammau(t, t) | ag.special.gammaincc(t, t) * ag.special.gamma(t)
gammaln(t) | ag.lgamma(t)
get_scalar_constant_value get_underlying_scalar_constant_value : `x.item()`
get_vector_length : `len(x)`
shape : `x.shape`
hyp2f1(t, t, t, t) | ag.special.hyp2f1(t, t, t, t)
i1(x) | ag.special.i1(x)
iv(1.0, t) | ag.special.iv(1.0, t)
ive(1.0, t) | ag.special.ive(1.0, t)
j0(x) | ag.special.j0(x)
j1(x) | ag.special.j1(x)
jv(1.0, t) | ag.special.jv(1.0, t)
kn(1, t) | ag.special.kn(1, t)
kv(1.0, t) | ag.special.kv(1.0, t)
kve(1.0, t) | ag.special.kve(1.0, t)
owens_t(x, t) | ag.special.owens_t(x, t)
psi(t) | ag.digamma(t)
tri_gamma(t) | ag.polygamma(1, t)
log1mexp(-t) | ag.log(-ag.expm1(-t))
log1pexp(x) | ag.softplus(x)
horizontal_stack(x, y) | ag.hstack([x, y])
vertical_stack(x, y) | ag.vstack([x, y])
stacklists([[v, v], [v, v]]) | ag.stack([ag.stack([v, v]), ag.stack([v, v])])
interpolate1d : `ag.interp(x, xp, fp)`
inverse_permutation(k) | ag.argsort(k)
iround(x, 'half_to_even') | ag.round(x).astype('int64')
round_half_to_even(x) | ag.round(x)
round_half_away_from_zero(x) | ag.sign(x) * ag.floor(ag.abs(x) + 0.5)
is_flat : `x.ndim`
join(0, x, y) | ag.concat([x, y], 0)
join_dims : `x.flatten(0, 1)`
split_dims : `x.reshape(2, 2, -1)`
pack unpack : `ag.concat([x.ravel(), y.ravel()])`
largest(x, y) | ag.maximum(x, y)
smallest(x, y) | ag.minimum(x, y)
max_and_argmax(x, 1) | (ag.max(x, axis=1), ag.argmax(x, 1))
nonzero_values(x) | x[ag.nonzero(x)]
permute_row_elements(x, i) | ag.take_along_axis(x, i, 1)
scalar_from_tensor tensor_from_scalar : nothing: a tensor without axes is a number
second(x, v) | ag.broadcast_to(v, x.shape)
sgn(x) | ag.sign(x)
shape_padaxis(x, 1) | ag.expand_dims(x, 1)
shape_padleft(x) | ag.expand_dims(x, 0)
shape_padright(x) | ag.expand_dims(x, -1)
specify_broadcastable specify_shape : `ag.ensure(x, x.shape[0] == 1)`, or `T.variable('float64', 2,
    shape=(1, 3))`
transfer : nothing: there is one device, the CPU
values_eq_approx_always_true : `ag.allclose(x, y)`
vectorize : `ag.vmap`, or `ag.vectorize(f)`
hessian jacobian : `ag.hessian(f)`, `ag.jacobian(f)`
singledispatch TYPE_CHECKING Union : `ag.Tensor`
euler_gamma : `-ag.digamma(1.0)`
e pi inf nan newaxis : `ag.e`, `ag.pi`, `ag.inf`, `ag.nan`, `None`
"""

#: Names by their form.
FORMS = (
    ("*_types", "`ag.isdtype(x.dtype, 'numeric')`"),
    ("?cols", "`T.col('x')` for each"), ("cols", "`T.col('x')` for each"),
    ("?rows", "`T.row('x')` for each"), ("rows", "`T.row('x')` for each"),
    ("?scalars", "`T.scalars('x', 'y')`"), ("?vectors", "`T.vectors('x', 'y')`"),
    ("?matrices", "`T.matrices('x', 'y')`"),
    ("*tensor?s", "`T.tensor3('x')` and the like for each"),
)
