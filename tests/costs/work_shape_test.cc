// The sizes of products and attention that a device's rate depends on.
#include "tests/costs/calls.h"

namespace reprise {
namespace {

WorkShape Product(float m, float n, float k, float batch = 1) {
  return {WorkShapeKind::kProduct, m, n, k, batch};
}

TEST(WorkShape, Products) {
  EXPECT_EQ(WorkShapeOf({"aten::mm", {D({3, 5}), D({5, 7})}, {D({3, 7})}}), Product(3, 7, 5));
  EXPECT_EQ(WorkShapeOf({"aten::addmm", {D({7}), D({3, 5}), D({5, 7}), I(1), I(1)}, {D({3, 7})}}),
            Product(3, 7, 5));
  EXPECT_EQ(WorkShapeOf({"aten::bmm", {D({2, 3, 5}), D({2, 5, 7})}, {D({2, 3, 7})}}),
            Product(3, 7, 5, 2));
  EXPECT_EQ(WorkShapeOf({"aten::mv", {D({3, 5}), D({5})}, {D({3})}}), Product(3, 1, 5));
  EXPECT_EQ(WorkShapeOf({"aten::dot", {D({5}), D({5})}, {D({})}}), Product(1, 1, 5));
  // One matrix of weights, (n x k): all leading dimensions are rows.
  EXPECT_EQ(WorkShapeOf({"aten::mkldnn_linear", {D({2, 3, 5}), D({7, 5})}, {D({2, 3, 7})}}),
            Product(6, 7, 5));
  EXPECT_EQ(WorkShapeOf({"aten::_scaled_mm",
                         {D({3, 5}, DType::kFloat4E2M1x2), D({5, 7}, DType::kFloat4E2M1x2)},
                         {D({3, 7}, DType::kBFloat16)}}),
            Product(3, 7, 10));
}

// 2 m n k and batches are the FLOPs of the cost rule.
TEST(WorkShape, AgreesWithTheCost) {
  for (const OpCall& call :
       std::vector<OpCall>{{"aten::mm", {D({3, 5}), D({5, 7})}, {D({3, 7})}},
                           {"aten::bmm", {D({2, 3, 5}), D({2, 5, 7})}, {D({2, 3, 7})}},
                           {"aten::mkldnn_linear", {D({2, 3, 5}), D({7, 5})}, {D({2, 3, 7})}},
                           {"aten::mv", {D({3, 5}), D({5})}, {D({3})}}}) {
    const WorkShape shape = WorkShapeOf(call);
    EXPECT_EQ(CostOf(call).flops, 2 * shape.batch * shape.m * shape.n * shape.k) << call.name;
  }
}

TEST(WorkShape, Attention) {
  // (batch, heads, tokens, head).
  const Value q = D({2, 8, 30, 16});
  const Value k = D({2, 8, 40, 16});
  const OpCall forward{"aten::_scaled_dot_product_flash_attention", {q, k, k}, {q}};
  EXPECT_EQ(WorkShapeOf(forward), (WorkShape{WorkShapeKind::kAttention, 30, 40, 16, 16}));
  const OpCall backward{
      "aten::_scaled_dot_product_flash_attention_backward", {q, q, k, k, q}, {q, k, k}};
  EXPECT_EQ(WorkShapeOf(backward).kind, WorkShapeKind::kAttentionBackward);
  // (batch, tokens, heads, head).
  const Value tokens_first = D({2, 30, 8, 16});
  EXPECT_EQ(WorkShapeOf({"aten::_flash_attention_forward",
                         {tokens_first, tokens_first, tokens_first},
                         {tokens_first}}),
            (WorkShape{WorkShapeKind::kAttention, 30, 30, 16, 16}));
}

TEST(WorkShape, OthersHaveNone) {
  EXPECT_EQ(WorkShapeOf({"aten::add", {D({3, 5}), D({3, 5})}, {D({3, 5})}}), WorkShape());
  EXPECT_EQ(WorkShapeOf({"aten::mm", {D({0, 5}), D({5, 7})}, {D({0, 7})}}), WorkShape());
  EXPECT_EQ(WorkShapeOf({"aten::mm", {}, {}}), WorkShape());
  EXPECT_EQ(WorkShapeOf({"my::op", {D({3, 5})}, {D({3, 5})}}), WorkShape());
}

}  // namespace
}  // namespace reprise
