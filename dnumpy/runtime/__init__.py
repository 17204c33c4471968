"""Plans and kernels to arrays on Dask; probing, placement, verification. The only place for Dask."""
