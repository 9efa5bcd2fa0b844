"""Winograd's convolutions (Winograd 1980; Lavin and Gray 2016): fewer multiplications per result.

In: a dense convolution of stride 1 whose filters have at least 2 taps along an axis. Out: a plan
with its tiles and workspace, and the LLVM IR of transforms, products in the transformed space, and
the inverse transform; filter gradients by the adjoint.
What must hold: a plan is only made where the saved multiplications pay for the transforms and
where the error stays within a few roundings of the direct sum.
"""
