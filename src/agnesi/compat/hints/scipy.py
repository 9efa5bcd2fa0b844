"""Names of SciPy's, scikit-learn's and statsmodels' and what to use for them."""

SCIPY = """
optimize minimize fmin_bfgs fmin_l_bfgs_b differential_evolution basinhopping dual_annealing :
    `scipy.optimize`, to which `ag.value_and_grad(f)` gives values and gradients (jac=True), or
    `ag.optim.LBFGS`
least_squares curve_fit leastsq : `scipy.optimize`, to which `ag.jacobian(f)` gives derivatives; or
    `ag.linalg.lstsq(X, y)` where parameters are linear
root fsolve root_scalar brentq brenth newton bisect fixed_point : `scipy.optimize`, to which
    `ag.grad(f)` or `ag.jacobian(f)` gives derivatives; or `ag.while_loop`
integrate quad dblquad tplquad nquad fixed_quad simpson romb : `ag.trapezoid(y, x)`, or
    `scipy.integrate`
odeint solve_ivp solve_bvp : `ag.scan` over steps, through which gradients flow, or
    `scipy.integrate`, to which `ag.jit(f)` is a function like others
interp1d interp2d CubicSpline UnivariateSpline PchipInterpolator make_interp_spline RBFInterpolator
    griddata splrep splev RegularGridInterpolator : `ag.interp(x, xp, fp)`, which is linear, or
    `scipy.interpolate`
ndimage gaussian_filter gaussian_filter1d uniform_filter median_filter sobel laplace map_coordinates
    zoom : `ag.nn.functional.conv2d` with `ag.image.gaussian_kernel` or another filter, or
    `scipy.ndimage`
butter cheby1 cheby2 ellip bessel firwin lfilter filtfilt sosfilt sosfiltfilt find_peaks medfilt
    savgol_filter wiener resample decimate spectrogram periodogram : `scipy.signal` on `x.numpy()`
deconvolve : `ag.polydiv(y, x)`
pearsonr spearmanr kendalltau : `ag.corrcoef(x)`, or `scipy.stats`
linregress OLS WLS GLS LinearRegression : `ag.linalg.lstsq(X, y)`, or `ag.polyfit(x, y, 1)`
add_constant : `ag.column_stack([ag.ones(len(x)), x])`
zscore : `(x - x.mean(0)) / x.std(0)`
bootstrap permutation_test ttest_ind ttest_rel ttest_1samp chi2_contingency ks_2samp shapiro
    mannwhitneyu wilcoxon f_oneway gaussian_kde rankdata iqr : `scipy.stats` on `x.numpy()`
cluster kmeans kmeans2 KMeans : `ag.cdist(x, centers)` with `ag.argmin(distances, 1)`
spatial distance_matrix : `ag.cdist(x, y)`
PCA TruncatedSVD : `ag.linalg.svd(x - x.mean(0))`
"""
FFT = """
dst dstn idst idstn fht ifht next_fast_len prev_fast_len : `scipy.fft` on `x.numpy()`
"""
SPECIAL = """
ellip_harm ellip_harm_2 ellip_normal legendre_p_all assoc_legendre_p_all sph_legendre_p_all
    sph_harm_y_all lmbda lqmn lqn mathieu_even_coef mathieu_odd_coef obl_cv_seq pro_cv_seq
    pbdn_seq pbdv_seq pbvv_seq : `scipy.special` on `x.numpy()`
"""
