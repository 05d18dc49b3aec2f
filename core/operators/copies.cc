// Copies, fills and random numbers: core/operator_table.h says what a row means.
#include "core/operator_table.h"

namespace reprise {

std::span<const OperatorGroup> operator_groups::Copies() {
  using enum ResultRule;
  static constexpr OperatorRow kCopyRows[] = {
      {.name = "aten::copy_", .signature = "(TTb)1"},
      {.name = "aten::cat", .signature = "(Li)1 .out(LiT)1"},
      {.name = "aten::stack", .signature = "(Li)1"},
      {.name = "aten::_chunk_cat", .signature = "(Lii)1"},
      {.name = "aten::repeat", .result = kRepeat, .signature = "(TI)1"},
      {.name = "aten::constant_pad_nd", .result = kPad},
      {.name = "aten::pixel_shuffle", .signature = "(Ti)1"},
      {.name = "aten::pixel_unshuffle", .signature = "(Ti)1"},
      {.name = "aten::channel_shuffle", .signature = "(Ti)1"},
      {.name = "aten::native_channel_shuffle", .signature = "(Ti)1"},
  };

  static constexpr std::string_view kCopyNames[] = {
      "aten::_cat",       "aten::_foreach_copy_",
      "fsdp::chunk_cat",  "fsdp::chunk_cat_mixed_dtype",
      "aten::_copy_from", "aten::_copy_from_and_resize"};

  static constexpr OperatorRow kEdgePadMoveRows[] = {
      {.name = "aten::reflection_pad1d", .signature = "(TI)1"},
      {.name = "aten::reflection_pad2d", .signature = "(TI)1"},
      {.name = "aten::reflection_pad3d", .signature = "(TI)1"},
      {.name = "aten::replication_pad1d", .signature = "(TI)1"},
      {.name = "aten::replication_pad2d", .signature = "(TI)1"},
      {.name = "aten::replication_pad3d", .signature = "(TI)1"},
  };

  static constexpr OperatorRow kEdgePadFoldBackRows[] = {
      {.name = "aten::reflection_pad1d_backward", .signature = "(TTI)1"},
      {.name = "aten::reflection_pad2d_backward", .signature = "(TTI)1"},
      {.name = "aten::reflection_pad3d_backward", .signature = "(TTI)1"},
      {.name = "aten::replication_pad1d_backward", .signature = "(TTI)1"},
      {.name = "aten::replication_pad2d_backward", .signature = "(TTI)1"},
      {.name = "aten::replication_pad3d_backward", .signature = "(TTI)1"},
  };

  static constexpr OperatorRow kMoreCopyRows[] = {
      {.name = "aten::split_with_sizes_copy", .kernels = "copy", .cost = CostRule::kSplitCopy},
      {.name = "aten::im2col",
       .kernels = "unfold",
       .cost = CostRule::kMove,
       .signature = "(TIIII)1"},
      {.name = "aten::col2im",
       .kernels = "unfold",
       .cost = CostRule::kFoldBack,
       .signature = "(TIIIII)1"},
      {.name = "aten::unfold_backward", .cost = CostRule::kFoldBack, .signature = "(TIiii)1"},
      {.name = "aten::_pad_circular", .cost = CostRule::kMove, .signature = "(TI)1"},
      {.name = "fsdp::all_gather_copy_in", .kernels = "copy", .cost = CostRule::kGatherCopyIn},
      {.name = "fsdp::split_with_sizes_copy", .kernels = "copy", .cost = CostRule::kSplitCopy},
      {.name = "aten::_reshape_copy", .cost = CostRule::kMove, .signature = "(TI)1"},
  };

  static constexpr OperatorRow kFillRows[] = {
      {.name = "aten::zero_", .signature = "(T)1"},
      {.name = "aten::_foreach_zero_", .signature = "(L)0"},
  };

  static constexpr std::string_view kFillNames[] = {"aten::scalar_tensor"};

  static constexpr OperatorRow kMoreFillRows[] = {
      {.name = "aten::fill_",
       .kernels = "fill copy",
       .cost = CostRule::kMove,
       .signature = ".Tensor(TT)1 !fill__Scalar(TS)1"},
      {.name = "aten::arange", .kernels = "fill", .cost = CostRule::kSequence},
      {.name = "aten::linspace", .kernels = "fill", .cost = CostRule::kSequence},
  };

  static constexpr OperatorRow kRandomRows[] = {
      {.name = "aten::random_", .signature = ".from(Tii?g)1 .to(Tig)1"},
      {.name = "aten::normal_", .signature = "(Tffg)1"},
      {.name = "aten::uniform_", .signature = "(Tffg)1"},
      {.name = "aten::exponential_", .signature = "(Tfg)1"},
  };

  static constexpr std::string_view kRandomNames[] = {
      "aten::geometric_",
      "aten::cauchy_",
      "aten::log_normal_",
  };

  static constexpr OperatorRow kMoreRandomRows[] = {
      {.name = "aten::bernoulli",
       .kernels = "random",
       .cost = CostRule::kRandom,
       .signature = ".p(Tfg?)1",
       .in_place = true,
       .in_place_signature = TorchSignature(".float(Tfg)1")},
  };

  static constexpr std::string_view kMoreRandomNames[] = {"aten::multinomial"};

  static constexpr OperatorGroup kGroups[] = {
      {.info = {OpClass::kCopy, OpKind::kWork},
       .kernels = "copy",
       .cost = CostRule::kMove,
       .rows = kCopyRows,
       .names = kCopyNames},
      {.info = {OpClass::kCopy, OpKind::kWork},
       .kernels = "edge_pad",
       .cost = CostRule::kMove,
       .rows = kEdgePadMoveRows},
      {.info = {OpClass::kCopy, OpKind::kWork},
       .kernels = "edge_pad",
       .cost = CostRule::kFoldBack,
       .rows = kEdgePadFoldBackRows},
      {.info = {OpClass::kCopy, OpKind::kWork}, .rows = kMoreCopyRows},
      {.info = {OpClass::kFill, OpKind::kWork},
       .kernels = "fill",
       .cost = CostRule::kMove,
       .rows = kFillRows,
       .names = kFillNames},
      {.info = {OpClass::kFill, OpKind::kWork}, .rows = kMoreFillRows},
      {.info = {OpClass::kRandom, OpKind::kWork},
       .kernels = "random",
       .cost = CostRule::kRandom,
       .rows = kRandomRows,
       .names = kRandomNames},
      {.info = {OpClass::kRandom, OpKind::kWork},
       .rows = kMoreRandomRows,
       .names = kMoreRandomNames},
  };
  return kGroups;
}

}  // namespace reprise
