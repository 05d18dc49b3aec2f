// Products of matrices: core/operator_table.h says what a row means.
#include "core/operator_table.h"

namespace reprise {

std::span<const OperatorGroup> operator_groups::Products() {
  using enum ResultRule;
  static constexpr OperatorRow kGemmRows[] = {
      {.name = "aten::mm",
       .arguments = "a=0 b=1",
       .result = kMatrixProduct,
       .signature = "(TT)1 .out(TTT)1 .dtype(TTd)1"},
      {.name = "aten::bmm",
       .arguments = "a=0 b=1",
       .result = kMatrixProduct,
       .signature = "(TT)1 .out(TTT)1 .dtype(TTd)1"},
      // Groups of rows end where `ends` says.
      {.name = "aten::_grouped_mm", .arguments = "a=0 b=1 ends=2", .result = kGroupedProduct},
      {.name = "aten::mv", .arguments = "a=0 b=1", .result = kMatrixProduct, .signature = "(TT)1"},
      {.name = "aten::dot", .arguments = "a=0 b=1", .result = kMatrixProduct, .signature = "(TT)1"},
      {.name = "aten::vdot",
       .arguments = "a=0 b=1",
       .result = kMatrixProduct,
       .signature = "(TT)1"},
  };

  static constexpr OperatorRow kGemmInPlaceRows[] = {
      {.name = "aten::addmm",
       .arguments = "addend=0 a=1 b=2 beta=3 alpha=4",
       .result = kAddedMatrixProduct,
       .signature = "!addmm_out(TTTSS)1",
       .in_place_signature = TorchSignature("")},
      {.name = "aten::baddbmm",
       .arguments = "addend=0 a=1 b=2 beta=3 alpha=4",
       .result = kAddedMatrixProduct,
       .signature = "!baddbmm_out(TTTSS)1",
       .in_place_signature = TorchSignature("")},
      {.name = "aten::addmv",
       .arguments = "addend=0 a=1 b=2 beta=3 alpha=4",
       .result = kAddedMatrixProduct},
  };

  static constexpr OperatorRow kGemmWithoutKernelRows[] = {
      {.name = "aten::addbmm", .arguments = "addend=0 a=1 b=2 beta=3 alpha=4"},
      {.name = "aten::_int_mm", .arguments = "a=0 b=1", .signature = "(TT)1"},
      {.name = "aten::_scaled_mm", .arguments = "a=0 b=1"},
      {.name = "aten::_scaled_grouped_mm", .arguments = "a=0 b=1 ends=4"},
      {.name = "aten::mkldnn_linear", .arguments = "a=0 rows=1 bias=2"},
  };

  static constexpr OperatorRow kMoreGemmRows[] = {
      {.name = "aten::_addmm_activation",
       .kernels = "gemm_activation",
       .arguments = "addend=0 a=1 b=2 beta=3 alpha=4 gelu=5",
       .cost = CostRule::kActivatedProduct,
       .result = kActivatedProduct},
  };

  static constexpr OperatorGroup kGroups[] = {
      {.info = {OpClass::kGemm, OpKind::kWork},
       .kernels = "gemm",
       .cost = CostRule::kProduct,
       .rows = kGemmRows},
      {.info = {OpClass::kGemm, OpKind::kWork},
       .kernels = "gemm",
       .cost = CostRule::kProduct,
       .in_place = true,
       .rows = kGemmInPlaceRows},
      {.info = {OpClass::kGemm, OpKind::kWork},
       .cost = CostRule::kProduct,
       .rows = kGemmWithoutKernelRows},
      {.info = {OpClass::kGemm, OpKind::kWork}, .rows = kMoreGemmRows},
  };
  return kGroups;
}

}  // namespace reprise
