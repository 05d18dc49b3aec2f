# shellcheck shell=bash
# What Open MPI needs in containers and on machines with fewer cores than ranks.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
# Bound to cores, ranks that share one wait milliseconds for each other.
export OMPI_MCA_hwloc_base_binding_policy=none
# One host needs no remote shell; Open MPI looks for one all the same.
command -v ssh >/dev/null || export OMPI_MCA_plm_rsh_agent=/bin/false
# Containers often forbid the kernel's cross-memory attach; Open MPI then prints a warning a rank.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
