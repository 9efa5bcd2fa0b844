"""Names of MATLAB and Octave, R and Julia.

A line is ``names : what to use``; operands are named as in :mod:`agnesi.compat.hints.torch`.
"""

LANGUAGES = """
repmat : `ag.tile(x, (2, 1))`
horzcat hcat cbind : `ag.hstack([x, y])`, `ag.column_stack` of vectors
vertcat rbind : `ag.vstack([x, y])`
numel : `x.size`
ndims : `x.ndim`
length : `len(x)`, or `x.size`
nrow ncol NROW NCOL : `x.shape[0]`, `x.shape[1]`
dim : `x.shape`
mldivide : `ag.linalg.solve(A, b)`, or `ag.linalg.lstsq(A, b)` where A is not square
mrdivide : `ag.linalg.solve(A.T, b.T).T`
mtimes : `x @ y`
times : `x * y`
rdivide : `x / y`
mpower : `ag.matrix_power(A, 2)`
ctranspose : `x.mH`
find findall which : `ag.flatnonzero(x > 0)`, or `ag.argwhere` for several axes
findfirst findlast : `ag.flatnonzero(x > 0)[0]`, or `[-1]`
findmax findmin : `x.argmax()`, `x.argmin()` and the values there
argsortperm sortperm order : `ag.argsort(x)`
rev reverse : `ag.flip(x)`
sortrows : `x[ag.lexsort((x[:, 1], x[:, 0]))]`
cummean : `ag.cumsum(x) / ag.arange(1, len(x) + 1)`
cumtrapz : `ag.cumulative_trapezoid(y, x)`
arrayfun cellfun bsxfun pagefun : `ag.vmap(f)(x)`, or the function itself: it takes whole tensors
sapply lapply vapply mapslices eachrow eachcol eachslice : `ag.vmap(f)(x)`, which takes rows
mapply : `ag.vmap(f)(x, y)`
tapply accumarray aggregate ave by rowsum : `ag.zeros(n).index_add(0, group, x)`, sums by group
table tabulate countmap : `ag.unique(x, return_counts=True)`
rowSums rowMeans : `x.sum(axis=1)`, `x.mean(axis=1)`
colSums colMeans : `x.sum(axis=0)`, `x.mean(axis=0)`
colnames rownames names : nothing: axes and columns have no names
sweep scale : `x - x.mean(axis=0)`: sizes broadcast
crossprod tcrossprod : `x.T @ x`, `x @ x.T`
diagm spdiags : `ag.diag(v)`
magic hilb invhilb rosser wilkinson : `ag.linalg.hilbert(4)` and kin
randi : `ag.random.integers(1, 11, (3, 4))`
rnorm : `ag.random.normal(0.0, 1.0, n)`
runif : `ag.random.uniform(0.0, 1.0, n)`
rbinom rpois rexp rgamma rbeta : `ag.random.binomial`, `ag.random.poisson`,
    `ag.random.exponential`, `ag.random.gamma`, `ag.random.beta`
dnorm pnorm qnorm normpdf normcdf norminv : `ag.distributions.Normal(0.0, 1.0)`, whose `log_prob`,
    `cdf` and `icdf` they are
set_seed rng : `ag.manual_seed(0)`
datasample : `ag.random.choice(x, 3)`
nchoosek : `ag.special.comb(5, 2)`
factorial gamma : `ag.special.{0}(x)`
nnz : `ag.count_nonzero(x)`
isempty : `x.size == 0`
ismember : `ag.isin(x, y)`
strcmp identical isequal all_equal : `ag.array_equal(x, y)`, `ag.allclose(x, y)`
fix : `ag.trunc(x)`
fzero fminsearch fminunc fmincon uniroot nlm nlminb : `scipy.optimize`, to which
    `ag.value_and_grad(f)` gives values and gradients
ode45 ode23 ode15s lsode : `ag.scan` over steps, or `scipy.integrate`
quadgk quadl quadv : `ag.trapezoid(y, x)`, or `scipy.integrate`
interp2 spline pchip approx : `ag.interp(x, xp, fp)`, which is linear, or
    `scipy.interpolate`
filter2 imfilter : `nn.functional.conv2d`
deconv : `ag.polydiv(y, x)`
nextpow2 : `ag.ceil(ag.log2(x))`
tic toc : `import time`, which is Python's own
disp display println : `print(x)`; `ag.print` in compiled functions
sprintf num2str paste : Python's f-strings, of `x.item()`
cell struct containers data_frame : Python's `list` and `dict`
lm fitlm regress : `ag.linalg.lstsq(X, y)`, or `ag.polyfit(x, y, 1)`
glm nls fitglm : `ag.optim.LBFGS`, or `ag.optim.flat.lbfgs`
prcomp princomp pca : `ag.linalg.svd(x - x.mean(0))`, or `ag.pca_lowrank(x)`
hclust dist : `ag.cdist(x, x)`
seq seq_len seq_along colon range : `ag.arange(1, n + 1)`, or `ag.linspace(0, 1, n)`
rep replicate : `ag.tile(x, 3)`, `ag.repeat(x, 3)`
head tail : `x[:5]`, `x[-5:]`
pmin pmax : `ag.minimum(x, y)`, `ag.maximum(x, y)`
cor : `ag.corrcoef(x)`
sd : `ag.std(x, correction=1)`
eigen : `ag.linalg.eigh(s)`, or `ag.linalg.eig(s)`
chol : `ag.linalg.cholesky(s)`, whose factor is lower
orth : `ag.linalg.orth(x)`
null nullspace : `ag.linalg.null_space(x)`
rank : `ag.linalg.matrix_rank(x)`
expm logm sqrtm : `ag.linalg.{0}(s)`
circshift : `ag.roll(x, 1)`
sub2ind : `ag.ravel_multi_index(index, shape)`
ind2sub : `ag.unravel_index(index, shape)`
dropdims : `ag.squeeze(x)`
similar : `ag.empty_like(x)`
"""
