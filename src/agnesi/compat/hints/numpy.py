"""NumPy's names.

A line is ``call | what it is here``, or ``names : what to use``; operands are named as in
:mod:`agnesi.compat.hints.torch`.
"""

NUMPY = """
True_ False_ : `True`, `False`
ScalarType sctypeDict typecodes common_type min_scalar_type mintypecode typename :
    `ag.result_type`, `ag.finfo`, `ag.iinfo`
array_str array_repr array2string nditer ndenumerate nested_iters flatiter base_repr binary_repr
    format_float_positional format_float_scientific set_printoptions get_printoptions printoptions
    : `numpy.asarray(x)`, which NumPy prints and walks
ascontiguousarray(x.T) | x.T.contiguous()
asfortranarray isfortran : `x.T.contiguous().T`
asmatrix bmat matrix : `ag.tensor`, `ag.block`; `@` multiplies matrices; symbols are
    `ag.symbolic.matrix`
bool_ : `ag.bool`
broadcast(x, v).shape | ag.broadcast_shapes(x.shape, v.shape)
busday_count busday_offset busdaycalendar is_busday datetime64 datetime_as_string datetime_data
    isnat timedelta64 : `numpy`, whose dates become numbers by `astype('int64')`
bytes_ str_ object_ void record recarray character : `numpy`: tensors hold numbers and bools
byte short intc int_ longlong intp : `ag.int8`, `ag.int16`, `ag.int32`, `ag.int64`
long int integer signedinteger : `ag.int64`
ubyte ushort uintc uint uintp ulong ulonglong unsignedinteger : `ag.uint8`, `ag.uint16`,
    `ag.uint32`, `ag.uint64`
single float_ floating inexact number generic flexible : `ag.float32`, `ag.float64`
csingle cdouble complexfloating clongdouble complex256 : `ag.complex64`, `ag.complex128`
longdouble float128 : `ag.float64`: the widest float here
euler_gamma : `-ag.digamma(1.0)`
fromfile fromregex fromstring genfromtxt loadtxt memmap : `ag.from_numpy(numpy.loadtxt(file))`
savez savez_compressed : `ag.saving.save_file`, `ag.saving.load_file`
savetxt : `numpy.savetxt(file, x)`
frompyfunc ufunc : `ag.vectorize(f)`
get_include getbufsize setbufsize info little_endian show_config show_runtime test :
    `ag.linalg.backend()`
geterr geterrcall seterrcall seterr errstate : `numpy.seterr`, `numpy.errstate`
poly1d : `ag.polyval(p, x)`
real_if_close(x) | x
require : `ag.asarray(x, dtype)`
ndarray : `ag.Tensor`
lib : `ag.sliding_window_view`
char strings : `numpy`: tensors hold numbers and bools
emath scimath : `ag.sqrt(x.astype('complex64'))` and the like, of complex numbers
s_ index_exp : `numpy.s_`
ndindex : `numpy.ndindex(*x.shape)`
in1d : `ag.isin`
product : `ag.prod`
cumproduct : `ag.cumprod`
"""

RANDOM = """
halfnormal : `ag.abs(ag.random.normal(size=3))`
halfcauchy : `ag.abs(ag.random.standard_cauchy(3))`
invgamma : `1 / ag.random.gamma(a, size=3)`
gengamma : `ag.random.gamma(a, size=3) ** (1 / c)`
nbinom : `ag.random.negative_binomial(n, p)`
betabinom : `ag.random.binomial(n, ag.random.beta(a, b))`
truncexpon : `-ag.log1p(ag.random.uniform(size=3) * ag.expm1(-b))`
RandomStream : `ag.symbolic.RandomStreams`
rng shared_rng : `ag.random.Generator(0)`
PRNGKey key split fold_in seed get_state set_state get_bit_generator set_bit_generator :
    `ag.manual_seed(0)` or `ag.random.default_rng(0)`: generators are state, found by ag.jit
RandomState BitGenerator MT19937 PCG64 PCG64DXSM Philox SFC64 SeedSequence : `ag.random.default_rng`
random random_sample ranf sample : `ag.random.uniform(size=(3, 4))`
random_integers : `ag.random.integers(low, high + 1)`
standard_normal : `ag.random.normal`
standard_exponential : `ag.random.exponential`
randperm : `ag.random.permutation`
test : `ag.random.uniform`
"""

GENERATOR = """
rand random_sample : `generator.random((2, 3))`
randn : `generator.standard_normal((2, 3))`
randint : `generator.integers(low, high, size)`
random_integers tomaxint : `generator.integers(low, high, size, endpoint=True)`
seed : `generator.manual_seed(0)`
bit_generator spawn jumped : `ag.random.Generator(seed)` of another seed: one for each stream
"""
SPARSE_TENSOR = """
reshape view flatten ravel squeeze unsqueeze repeat expand cumsum cumprod max min argmax argmin std
    var exp log cos power clip round where nonzero item tolist all any minimum maximum trace prod :
    the method of `ag.sparse.dense_from_sparse(A)`, or the method `map` for the entries alone
toarray A todok tolil tobsr todia : `ag.sparse.dense_from_sparse(A)`
tocsc tocsr : `ag.sparse.csc(A)`, `ag.sparse.csr(A)`
"""
SPARSE = """
from_dense to_sparse : `ag.sparse.csr_from_dense(x)`, `x.to_sparse()`
csr_array : `ag.sparse.csr(x)`
csc_array : `ag.sparse.csc(x)`
coo_array coo_matrix sparse_coo_tensor : `ag.sparse.coo(indices, values, shape)`
bsr_array bsr_matrix dia_array dia_matrix dok_array dok_matrix lil_array lil_matrix :
    `ag.sparse.from_scipy(A)` of SciPy's, by rows
todense to_dense : `ag.sparse.dense_from_sparse(A)`
identity eye_array : `ag.sparse.eye(n)`
vstack hstack block_diag kron random load_npz save_npz : SciPy's, and `ag.sparse.from_scipy(A)`
    of its result
"""
