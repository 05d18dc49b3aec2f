// What of OpenCL C's library the tensor-core program uses, for a clang that has no such library.
#define asm __asm__
#define get_local_id(d) ((d) == 0 ? (size_t)__nvvm_read_ptx_sreg_tid_x() : 0)
#define get_group_id(d) \
  ((d) == 0 ? (size_t)__nvvm_read_ptx_sreg_ctaid_x() : (size_t)__nvvm_read_ptx_sreg_ctaid_z())
#define barrier(flags) __nvvm_bar_sync(0)
static inline float load_half(ushort bits) {
  float v;
  asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
  return v;
}
#define vload_half(i, p) load_half(((const __global ushort*)(p))[i])
#define vstore_half_rte(v, i, p)  // common.cl's, which the program does not call
