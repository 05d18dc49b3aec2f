// Names of kernels as public captures have them.
#include "core/kernel_names.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(KernelNames, NamesSayTheClass) {
  struct Case {
    const char* name;
    OpClass op_class;
  };
  using enum OpClass;
  constexpr Case kCases[] = {
      {"ampere_sgemm_128x64_nn", kGemm},
      {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", kGemm},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x256_MI16x16x1", kGemm},
      {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16>", kGemm},
      {"void cublasLt::splitKreduce_kernel<32, 16, int, float>", kGemm},
      {"void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16>", kGemm},
      {"_matmul_ogs_NNT_bf16xbf16xmxfp4_64x256x128x1", kGemm},
      {"fused_moe_kernel", kGemm},
      {"void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>", kAttention},
      {"kernel_unified_attention_3d", kAttention},
      {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80", kAttention},
      {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EEE", kNorm},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>", kNorm},
      {"sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc", kConv},
      {"implicit_convolve_sgemm", kConv},
      {"void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel>", kElementwise},
      {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>", kElementwise},
      {"void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>", kElementwise},
      {"void at::native::vectorized_elementwise_kernel<4, FillFunctor<int>>", kFill},
      {"void per_token_group_quant_8bit_kernel<c10::BFloat16>", kElementwise},
      {"void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda>", kCopy},
      {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>", kCopy},
      {"void moe_align_block_size_kernel<int>", kIndex},
      {"void vllm::moe::topkGatingSoftmax<8, 128, 4, 16>", kSort},
      {"void at::native::vectorized_gather_kernel<16, long>", kIndex},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 4>", kSoftmax},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", kReduction},
      {"triton_poi_fused_add_mul_0", kElementwise},
      {"triton_red_fused_native_layer_norm_1", kReduction},
      {"triton_per_fused__softmax_2", kReduction},
      {"triton_tem_fused_mm_3", kGemm},
      {"triton_tem_fused_flex_attention_0", kAttention},
      {"sage_fwd", kOther},
      {"", kOther},
  };
  for (const Case& one : kCases) {
    EXPECT_EQ(ClassOfKernelName(one.name), one.op_class) << one.name;
  }
}

TEST(KernelNames, InductorsKernelsAreFused) {
  EXPECT_TRUE(IsFusedKernelName("triton_poi_fused_add_mul_0"));
  EXPECT_TRUE(IsFusedKernelName("triton_red_fused_sum_1"));
  EXPECT_FALSE(IsFusedKernelName("triton_tem_fused_mm_3"));  // a product's operands are read often
  EXPECT_FALSE(IsFusedKernelName("aten::add"));
}

}  // namespace
}  // namespace reprise
