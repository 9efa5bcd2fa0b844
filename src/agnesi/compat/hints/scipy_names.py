"""Names of SciPy's and scikit-learn's modules that compute on samples, signals and images.

A line is ``names : what to use``, as in :mod:`agnesi.compat.hints.scipy`; ``{0}`` is the name.
"""

#: Of ``scipy.stats``: distributions, and what is computed of samples.
STATS = """
Logistic : `ag.distributions.TransformedDistribution`
Mixture : `ag.distributions.MixtureSameFamily`
abs : `ag.abs(x)`
binom : `ag.distributions.Binomial`
chi : `ag.distributions.TransformedDistribution` of `ag.distributions.Chi2`
dirichlet_multinomial : `ag.distributions.Dirichlet`, and `ag.distributions.Multinomial` of its
    draws
entropy : `ag.distributions.Categorical(probs).entropy()`
erlang : `ag.distributions.Gamma`
exp : `ag.exp(x)`
expon : `ag.distributions.Exponential`
f : `ag.distributions.FisherSnedecor`
gaussian_kde : `ag.distributions.MixtureSameFamily`, or `scipy.stats` on `x.numpy()`
genpareto : `ag.distributions.GeneralizedPareto`
geom : `ag.distributions.Geometric`
gmean : `ag.exp(ag.log(x).mean())`
gumbel_r : `ag.distributions.Gumbel`
halfcauchy : `ag.distributions.HalfCauchy`
halfnorm : `ag.distributions.HalfNormal`
hmean : `1 / (1 / x).mean()`
invgamma : `ag.distributions.InverseGamma`
iqr : `ag.quantile(x, 0.75) - ag.quantile(x, 0.25)`
kurtosis : `(((x - x.mean()) / x.std()) ** 4).mean() - 3`
linregress : `ag.polyfit(x, y, 1)`, or `ag.linalg.lstsq(X, y)`
log : `ag.log(x)`
logistic : `ag.distributions.TransformedDistribution`
lognorm : `ag.distributions.LogNormal`
lomax : `ag.distributions.GeneralizedPareto`
make_distribution : a subclass of `ag.distributions.Distribution`
mode : `ag.mode(x)`
moment : `((x - x.mean()) ** 3).mean()`
nbinom : `ag.distributions.NegativeBinomial`
norm : `ag.distributions.Normal`
pearsonr : `ag.corrcoef(x)`
quantile : `ag.quantile(x, 0.5)`
randint : `ag.random.integers`
rayleigh : `ag.distributions.Weibull(2**0.5, 2.0)`
rv_continuous : a subclass of `ag.distributions.Distribution`
rv_discrete : a subclass of `ag.distributions.Distribution`
sem : `x.std(correction=1) / len(x)**0.5`
skew : `(((x - x.mean()) / x.std()) ** 3).mean()`
t : `ag.distributions.StudentT`
vonmises : `ag.distributions.VonMises`
weibull_min : `ag.distributions.Weibull`
zscore : `(x - x.mean(0)) / x.std(0)`
BootstrapMethod CensoredData ConstantInputWarning Covariance DegenerateDataWarning FitError
    MonteCarloMethod NearConstantInputWarning PermutationMethod alexandergovern alpha anderson
    anderson_ksamp anglit ansari arcsine argus barnard_exact bartlett bayes_mvs betabinom betanbinom
    betaprime binned_statistic binned_statistic_2d binned_statistic_dd binomtest boltzmann bootstrap
    boschloo_exact boxcox boxcox_llf boxcox_normmax boxcox_normplot bradford brunnermunzel burr
    burr12 bws_test chatterjeexi chi2_contingency chisquare circmean circstd circvar combine_pvalues
    cosine cramervonmises cramervonmises_2samp crystalball cumfreq describe dgamma
    differential_entropy directional_stats dlaplace dpareto_lognorm dunnett dweibull ecdf
    energy_distance epps_singleton_2samp expectile exponnorm exponpow exponweib f_oneway
    false_discovery_control fatiguelife fisher_exact fisk fit fligner foldcauchy foldnorm
    friedmanchisquare gausshyper genexpon genextreme gengamma genhalflogistic genhyperbolic
    geninvgauss genlogistic gennorm gibrat gompertz goodness_of_fit gstd gumbel_l gzscore
    halfgennorm halflogistic hypergeom hypsecant invgauss invweibull invwishart irwinhall
    jarque_bera jf_skew_t johnsonsb johnsonsu kappa3 kappa4 kendalltau kruskal ks_1samp ks_2samp
    ksone kstat kstatvar kstest kstwo kstwobign kurtosistest landau laplace_asymmetric levene levy
    levy_l levy_stable lmoment loggamma loglaplace logrank logser loguniform mannwhitneyu
    matrix_normal matrix_t maxwell median_abs_deviation median_test mielke monte_carlo_test mood
    moyal multiscale_graphcorr multivariate_hypergeom multivariate_t mvsdist nakagami ncf
    nchypergeom_fisher nchypergeom_wallenius nct ncx2 nhypergeom normal_inverse_gamma normaltest
    norminvgauss obrientransform order_statistic ortho_group page_trend_test pearson3
    percentileofscore permutation_test planck pmean pointbiserialr poisson_binom poisson_means_test
    power power_divergence powerlaw powerlognorm powernorm ppcc_max ppcc_plot probplot quantile_test
    random_correlation random_table rankdata ranksums rdist recipinvgauss reciprocal rel_breitwigner
    relfreq rice rv_histogram scoreatpercentile semicircular shapiro siegelslopes sigmaclip skellam
    skewcauchy skewnorm skewtest sobol_indices somersd spearmanr spearmanrho special_ortho_group
    studentized_range theilslopes tiecorrect tmax tmean tmin trapezoid triang trim1 trim_mean
    trimboth truncate truncexpon truncnorm truncpareto truncweibull_min tsem tstd ttest_1samp
    ttest_ind ttest_ind_from_stats ttest_rel tukey_hsd tukeylambda tvar uniform_direction
    unitary_group variation vonmises_fisher vonmises_line wald wasserstein_distance
    wasserstein_distance_nd weibull_max weightedtau wilcoxon wrapcauchy yeojohnson yeojohnson_llf
    yeojohnson_normmax yeojohnson_normplot yulesimon zipf zipfian zmap : `scipy.stats.{0}`, of
    arrays: `x.numpy()`
"""
#: Of ``scipy.signal``, ``ndimage``, ``optimize``, ``interpolate`` and ``integrate``: what has no
#: counterpart.
OTHERS = """
chirp : `ag.cos(ag.cumsum(frequencies))`
correlation_lags : `ag.arange(1 - len(y), len(x))`
get_window : `ag.hann_window(5)` and kin
hilbert : `ag.fft.fft(x)`, zeros for negative frequencies, `ag.fft.ifft`
oaconvolve : `ag.convolve(x, y)`
unit_impulse : `ag.eye(n)[k]`
upfirdn : `nn.functional.conv_transpose1d`
BadCoefficients CZT ShortTimeFFT StateSpace TransferFunction ZerosPolesGain ZoomFFT abcd_normalize
    argrelextrema argrelmax argrelmin band_stop_obj besselap bilinear_zpk bode buttap buttord
    cheb1ap cheb1ord cheb2ap cheb2ord check_COLA check_NOLA choose_conv_method
    closest_STFT_dual_window coherence cont2discrete cspline1d cspline1d_eval cspline2d czt
    czt_points dbode dfreqresp dimpulse dlsim dlti dstep ellipap ellipord envelope find_peaks_cwt
    findfreqs firls firwin2 firwin_2d freqresp freqs freqs_zpk freqz freqz_sos freqz_zpk gammatone
    gauss_spline gausspulse group_delay hilbert2 iircomb iirdesign iirfilter iirnotch iirpeak
    impulse invres invresz kaiser_atten kaiser_beta kaiserord lfilter_zi lfiltic lombscargle lp2bp
    lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk lsim lti max_len_seq medfilt2d
    minimum_phase normalize order_filter peak_prominences peak_widths place_poles remez
    resample_poly residue residuez savgol_coeffs sawtooth sepfir2d sos2tf sos2zpk sosfilt_zi
    sosfreqz spline_filter ss2tf ss2zpk step sweep_poly symiirorder1 symiirorder2 tf2sos tf2ss
    tf2zpk unique_roots vectorstrength zoom_fft zpk2sos zpk2ss zpk2tf : `scipy.signal.{0}`, of
    arrays: `x.numpy()`
convolve1d : `nn.functional.conv1d`
correlate1d : `nn.functional.conv1d`
maximum_filter : `nn.functional.max_pool2d(x, 3, 1, 1)`
minimum_filter : `-nn.functional.max_pool2d(-x, 3, 1, 1)`
rotate : `ag.image.rotate`
standard_deviation : `ag.std(x)`
uniform_filter1d : `nn.functional.avg_pool1d(x, 3, 1, 1)`
variance : `ag.var(x)`
affine_transform binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss
    binary_opening binary_propagation black_tophat center_of_mass distance_transform_bf
    distance_transform_cdt distance_transform_edt extrema find_objects fourier_ellipsoid
    fourier_gaussian fourier_shift fourier_uniform gaussian_gradient_magnitude gaussian_laplace
    generate_binary_structure generic_filter generic_filter1d generic_gradient_magnitude
    generic_laplace geometric_transform grey_closing grey_dilation grey_erosion grey_opening
    iterate_structure label labeled_comprehension maximum_filter1d maximum_position minimum_filter1d
    minimum_position morphological_gradient morphological_laplace percentile_filter prewitt
    rank_filter shift spline_filter1d sum_labels value_indices vectorized_filter watershed_ift
    white_tophat : `scipy.ndimage.{0}`, of arrays: `x.numpy()`
approx_fprime : `ag.grad(f)(x)`, which is exact
check_grad : `ag.autograd.gradcheck(f, (x,))`
rosen : `(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()`
rosen_der : `ag.grad(f)(x)` of its formula
rosen_hess : `ag.hessian(f)(x)` of its formula
BFGS Bounds BroydenFirst HessianUpdateStrategy InverseJacobian KrylovJacobian LbfgsInvHessProduct
    LinearConstraint NoConvergence NonlinearConstraint OptimizeResult OptimizeWarning RootResults
    SR1 anderson bracket brent broyden1 broyden2 brute diagbroyden direct excitingmixing fmin_cg
    fmin_cobyla fmin_ncg fmin_powell fmin_slsqp fmin_tnc fminbound golden isotonic_regression
    line_search linear_sum_assignment linearmixing linprog linprog_verbose_callback lsq_linear milp
    minimize_scalar newton_krylov ridder rosen_hess_prod shgo show_options toms748 :
    `scipy.optimize.{0}`, of arrays: `x.numpy()`
AAA Akima1DInterpolator BPoly BSpline BarycentricInterpolator BivariateSpline
    CloughTocher2DInterpolator CubicHermiteSpline FloaterHormannInterpolator
    InterpolatedUnivariateSpline KroghInterpolator LSQBivariateSpline LSQSphereBivariateSpline
    LSQUnivariateSpline LinearNDInterpolator NdBSpline NdPPoly NearestNDInterpolator PPoly Rbf
    RectBivariateSpline RectSphereBivariateSpline SmoothBivariateSpline SmoothSphereBivariateSpline
    approximate_taylor_polynomial barycentric_interpolate bisplev bisplrep generate_knots interpn
    krogh_interpolate lagrange make_lsq_spline make_smoothing_spline make_splprep make_splrep pade
    pchip_interpolate spalde splantider splder splint splprep sproot : `scipy.interpolate.{0}`, of
    arrays: `x.numpy()`
BDF DOP853 DenseOutput IntegrationWarning LSODA ODEintWarning OdeSolution OdeSolver RK23 RK45 Radau
    complex_ode cubature cumulative_simpson lebedev_rule newton_cotes nsum ode qmc_quad tanhsinh :
    `scipy.integrate.{0}`, of arrays: `x.numpy()`
"""
#: The same for images.
NDIMAGE = """
gaussian_filter gaussian_filter1d : `ag.image.convolve(image, ag.image.gaussian_kernel(3))`
laplace gaussian_laplace : `ag.image.convolve(image, ag.image.laplacian_kernel(3))`
histogram mean median minimum maximum sum correlate : `ag.{0}`
zoom : `ag.image.scale`
shift : `ag.roll(image, 1, -1)`
maximum_filter : `nn.functional.max_pool2d(x, 3, 1, 1)`
uniform_filter : `nn.functional.avg_pool2d(x, 3, 1, 1)`
standard_deviation : `ag.std(x)`
variance : `ag.var(x)`
affine_transform binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss
    binary_opening binary_propagation black_tophat center_of_mass convolve1d correlate1d
    distance_transform_bf distance_transform_cdt distance_transform_edt extrema find_objects
    fourier_ellipsoid fourier_gaussian fourier_shift fourier_uniform gaussian_gradient_magnitude
    generate_binary_structure generic_filter generic_filter1d generic_gradient_magnitude
    generic_laplace geometric_transform grey_closing grey_dilation grey_erosion grey_opening
    iterate_structure label labeled_comprehension map_coordinates maximum_filter1d maximum_position
    median_filter minimum_filter minimum_filter1d minimum_position morphological_gradient
    morphological_laplace percentile_filter prewitt rank_filter sobel spline_filter spline_filter1d
    sum_labels uniform_filter1d value_indices vectorized_filter watershed_ift white_tophat :
    `scipy.ndimage.{0}`, of arrays: `x.numpy()`
"""
#: Of ``scipy.optimize``, looked for among optimizers.
OPTIMIZE = """
minimize fmin_bfgs BFGS fmin_l_bfgs_b : `ag.optim.flat.bfgs`, `ag.optim.flat.lbfgs`, or
    `scipy.optimize.{0}`, to which `ag.value_and_grad(f)` gives values and gradients
fmin_cg : `ag.optim.flat.cg`
least_squares leastsq curve_fit : `ag.optim.flat.levenberg_marquardt`
Bounds BroydenFirst HessianUpdateStrategy InverseJacobian KrylovJacobian LbfgsInvHessProduct
    LinearConstraint NoConvergence NonlinearConstraint OptimizeResult OptimizeWarning RootResults
    SR1 anderson approx_fprime basinhopping bisect bracket brent brenth brentq broyden1 broyden2
    brute check_grad diagbroyden differential_evolution direct dual_annealing excitingmixing
    fixed_point fmin fmin_cobyla fmin_ncg fmin_powell fmin_slsqp fmin_tnc fminbound fsolve golden
    isotonic_regression line_search linear_sum_assignment linearmixing linprog
    linprog_verbose_callback lsq_linear milp minimize_scalar newton newton_krylov
    quadratic_assignment ridder root root_scalar rosen rosen_der rosen_hess rosen_hess_prod shgo
    show_options toms748 : `scipy.optimize.{0}`, to which `ag.grad(f)` and `ag.jacobian(f)` give
    derivatives
"""
#: Of scikit-learn's.
SCORES = """
auc : `ag.trapezoid(y, x)`
balanced_accuracy_score : `ag.metrics.Recall`, of all classes
confusion_matrix cohen_kappa_score matthews_corrcoef jaccard_score : `ag.metrics.ConfusionMatrix`
fbeta_score precision_recall_fscore_support : `ag.metrics.F1Score`, `ag.metrics.Precision`,
    `ag.metrics.Recall`
log_loss : `nn.functional.cross_entropy`, of logits
hinge_loss : `nn.functional.multi_margin_loss`
hamming_loss zero_one_loss : `(x != y).mean()`
max_error : `(x - y).abs().max()`
median_absolute_error : `(x - y).abs().median()`
mean_absolute_percentage_error : `((x - y) / y).abs().mean()`
mean_squared_log_error root_mean_squared_log_error : `((ag.log1p(x) - ag.log1p(y)) ** 2).mean()`
root_mean_squared_error : `((x - y) ** 2).mean().sqrt()`
euclidean_distances pairwise_distances : `ag.cdist(x, y)`
top_k_accuracy_score : `(ag.topk(x, 5).indices == y[:, None]).any(-1).mean()`
ConfusionMatrixDisplay DetCurveDisplay DistanceMetric PrecisionRecallDisplay PredictionErrorDisplay
    RocCurveDisplay adjusted_mutual_info_score adjusted_rand_score brier_score_loss
    calinski_harabasz_score check_scoring class_likelihood_ratios classification_report cluster
    completeness_score confusion_matrix_at_thresholds consensus_score coverage_error
    d2_absolute_error_score d2_brier_score d2_log_loss_score d2_pinball_score d2_tweedie_score
    davies_bouldin_score dcg_score det_curve explained_variance_score fowlkes_mallows_score
    get_scorer get_scorer_names homogeneity_completeness_v_measure homogeneity_score
    label_ranking_average_precision_score label_ranking_loss make_scorer mean_gamma_deviance
    mean_pinball_loss mean_poisson_deviance mean_tweedie_deviance metric_at_thresholds
    multilabel_confusion_matrix mutual_info_score nan_euclidean_distances ndcg_score
    normalized_mutual_info_score pair_confusion_matrix pairwise_distances_argmin
    pairwise_distances_argmin_min pairwise_distances_chunked pairwise_kernels precision_recall_curve
    rand_score roc_curve silhouette_samples silhouette_score v_measure_score average_precision_score
    : scikit-learn's own, of arrays: `x.numpy()`
"""
