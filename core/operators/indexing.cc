// Embeddings, indexing and sorting: core/operator_table.h says what a row means.
#include "core/operator_table.h"

namespace reprise {

std::span<const OperatorGroup> operator_groups::Indexing() {
  using enum ResultRule;
  static constexpr OperatorRow kMoreEmbeddingRows[] = {
      {.name = "aten::embedding",
       .kernels = "embedding",
       .cost = CostRule::kEmbedding,
       .result = kEmbedding,
       .bounds = BoundRule::kRowsOfFirst,
       .signature = "(TTibb)1"},
      {.name = "aten::embedding_dense_backward",
       .kernels = "embedding",
       .cost = CostRule::kEmbeddingBackward,
       .result = kEmbeddingBackward,
       .bounds = BoundRule::kTableRows,
       .signature = "(TTiib)1"},
      {.name = "aten::_embedding_bag",
       .kernels = "embedding_bag",
       .arguments = "table=0 index=1 mode=4 weights=6",
       .cost = CostRule::kEmbeddingBag,
       .bounds = BoundRule::kRowsOfFirst,
       .signature = "(TTTbibT?bi)4"},
      {.name = "aten::_embedding_bag_dense_backward",
       .kernels = "embedding_bag",
       .arguments = "grad=0 index=1 mode=7 weights=8",
       .cost = CostRule::kEmbeddingBagBackward,
       .bounds = BoundRule::kBagRows,
       .signature = "(TTTTTibiT?i)1"},
      {.name = "aten::_embedding_bag_forward_only",
       .kernels = "embedding_bag",
       .arguments = "table=0 index=1 mode=4 weights=6",
       .cost = CostRule::kEmbeddingBag,
       .bounds = BoundRule::kRowsOfFirst,
       .signature = "(TTTbibT?bi)4"},
  };

  static constexpr std::string_view kMoreEmbeddingNames[] = {
      "fbgemm::split_embedding_*",
      "fbgemm::dense_embedding_*",
  };

  static constexpr OperatorRow kIndexReadRows[] = {
      {.name = "aten::index_select",
       .result = kIndexSelect,
       .bounds = BoundRule::kAlongDimension,
       .signature = "(TiT)1"},
      {.name = "aten::gather",
       .result = kGather,
       .bounds = BoundRule::kAlongDimension,
       .signature = "(TiTb)1"},
      {.name = "aten::take", .bounds = BoundRule::kElementsOfFirst, .signature = "(TT)1"},
  };

  static constexpr OperatorRow kIndexWriteInPlaceRows[] = {
      {.name = "aten::scatter", .bounds = BoundRule::kAlongDimension, .signature = ".src(TiTT)1"},
      {.name = "aten::scatter_add",
       .result = kScatter,
       .bounds = BoundRule::kAlongDimension,
       .signature = "(TiTT)1"},
      {.name = "aten::index_add", .bounds = BoundRule::kAlongDimension},
      {.name = "aten::index_copy", .bounds = BoundRule::kAlongDimension, .signature = "(TiTT)1"},
      {.name = "aten::index_fill",
       .bounds = BoundRule::kAlongDimension,
       .signature = ".int_Tensor(TiTT)1"},
  };

  static constexpr OperatorRow kTriangleInPlaceRows[] = {
      {.name = "aten::tril", .result = kTriangle, .signature = "(Ti)1"},
      {.name = "aten::triu", .result = kTriangle, .signature = "(Ti)1"},
  };

  static constexpr OperatorRow kIndexEstimatedRows[] = {
      {.name = "aten::diag", .signature = "(Ti)1"},
  };

  static constexpr std::string_view kIndexEstimatedNames[] = {
      "aten::eye",
      "aten::unique_dim",
      "aten::_unique2",
  };

  static constexpr OperatorRow kMoreIndexRows[] = {
      {.name = "aten::index",
       .kernels = "index_read masked",
       .cost = CostRule::kSelect,
       .bounds = BoundRule::kEachDimension,
       .signature = ".Tensor(TU)1"},
      {.name = "aten::scatter_reduce_",
       .cost = CostRule::kPutAlong,
       .bounds = BoundRule::kAlongDimension,
       .signature = ".two(TiTTsb)1"},
      {.name = "aten::index_put",
       .kernels = "masked index_write",
       .cost = CostRule::kPut,
       .bounds = BoundRule::kEachDimension,
       .signature = "(TUTb)1",
       .in_place = true},
      {.name = "aten::_index_put_impl_",
       .kernels = "masked index_write",
       .cost = CostRule::kPut,
       .bounds = BoundRule::kEachDimension,
       .signature = "(TUTbb)1"},
      {.name = "aten::_unsafe_index",
       .kernels = "index_read masked",
       .cost = CostRule::kSelect,
       .bounds = BoundRule::kEachDimension,
       .signature = "(TU)1"},
      {.name = "aten::_unsafe_index_put",
       .kernels = "index_write",
       .cost = CostRule::kPut,
       .bounds = BoundRule::kEachDimension,
       .signature = "(TUTb)1"},
      {.name = "aten::masked_select", .kernels = "masked", .cost = CostRule::kSelect},
      {.name = "aten::nonzero", .kernels = "masked", .cost = CostRule::kNonzero},
      {.name = "aten::repeat_interleave",
       .kernels = "repeat_interleave",
       .cost = CostRule::kReadAndWrite},
      {.name = "aten::bincount",
       .kernels = "bincount",
       .cost = CostRule::kBincount,
       .bounds = BoundRule::kBins},
      {.name = "aten::histc", .kernels = "bincount", .cost = CostRule::kBincount},
      {.name = "aten::roll",
       .kernels = "copy",
       .cost = CostRule::kReadAndWrite,
       .signature = "(TII)1"},
      {.name = "aten::flip",
       .kernels = "copy",
       .cost = CostRule::kReadAndWrite,
       .signature = "(TI)1"},
  };

  static constexpr OperatorRow kSortRows[] = {
      {.name = "aten::sort", .result = kSort, .signature = "(Tib)2 .stable(Tb?ib)2"},
      {.name = "aten::topk", .result = kTopK, .signature = "(Tiibb)2"},
      {.name = "aten::argsort", .signature = "(Tib)1"},
  };

  static constexpr OperatorRow kMedianRows[] = {
      {.name = "aten::kthvalue", .signature = "(Tiib)2"},
      {.name = "aten::median", .signature = "(T)1 .dim(Tib)2"},
      {.name = "aten::nanmedian", .signature = "(T)1 .dim(Tib)2"},
  };

  static constexpr OperatorRow kMoreSortRows[] = {
      {.name = "aten::searchsorted",
       .kernels = "search",
       .arguments = "boundaries=0 values=1",
       .cost = CostRule::kSearch,
       .signature = ".Tensor(TTbbs?T?)1"},
      {.name = "aten::bucketize",
       .kernels = "search",
       .arguments = "values=0 boundaries=1",
       .cost = CostRule::kSearch,
       .signature = ".Tensor(TTbb)1"},
  };

  static constexpr std::string_view kMoreSortNames[] = {"aten::randperm"};

  static constexpr OperatorGroup kGroups[] = {
      {.info = {OpClass::kEmbedding, OpKind::kWork},
       .rows = kMoreEmbeddingRows,
       .names = kMoreEmbeddingNames},
      {.info = {OpClass::kIndex, OpKind::kWork},
       .kernels = "index_read",
       .cost = CostRule::kSelect,
       .rows = kIndexReadRows},
      {.info = {OpClass::kIndex, OpKind::kWork},
       .kernels = "index_write",
       .cost = CostRule::kPutAlong,
       .in_place = true,
       .rows = kIndexWriteInPlaceRows},
      {.info = {OpClass::kIndex, OpKind::kWork},
       .kernels = "triangle",
       .cost = CostRule::kReadAndWrite,
       .in_place = true,
       .rows = kTriangleInPlaceRows},
      {.info = {OpClass::kIndex, OpKind::kWork},
       .rows = kIndexEstimatedRows,
       .names = kIndexEstimatedNames},
      {.info = {OpClass::kIndex, OpKind::kWork}, .rows = kMoreIndexRows},
      {.info = {OpClass::kSort, OpKind::kWork},
       .kernels = "sort",
       .cost = CostRule::kSort,
       .rows = kSortRows},
      {.info = {OpClass::kSort, OpKind::kWork},
       .kernels = "median",
       .cost = CostRule::kReduction,
       .rows = kMedianRows},
      {.info = {OpClass::kSort, OpKind::kWork}, .rows = kMoreSortRows, .names = kMoreSortNames},
  };
  return kGroups;
}

}  // namespace reprise
