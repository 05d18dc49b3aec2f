#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "kernels/ops/attention/attention_call.h"
#include "kernels/ops/products/gemm_launch.h"
#include "kernels/ops/random/random_draw.h"

namespace reprise {
namespace {

// Scores of as many heads as fit are in memory at once.
constexpr std::int64_t kMaxScoreBytes = std::int64_t{256} << 20;
constexpr int kAttentionPartSlot = 2;  // behind those of scores and their gradients
constexpr std::int64_t kCpuElementsPerItem = 4096;
constexpr std::size_t kAttentionGpuGroup = 64;

// The same struct as in attention.cl.
struct AttentionArgs {
  std::int64_t rows, heads, queries, keys;
  std::int64_t lse_at, lse[3];
  std::int64_t mask_at, mask[4];
  std::int64_t out_at, out[4];
  std::int64_t grad_at, grad[4];
  std::int64_t features;
  std::int64_t all_heads, first_batch, first_head;
  std::uint64_t seed;
  std::int64_t shift, window;
  std::int32_t causal, has_mask, has_lse;
  float dropout;
};

// Heads [h, h + heads) of batches [b, b + batches).
struct Heads {
  std::int64_t b, batches, h, heads;
  [[nodiscard]] std::int64_t count() const { return batches * heads; }
};

class AttentionLowering {
 public:
  AttentionLowering(const AttentionCall& a, RowLowering& rows) : a_(a), rows_(rows) {}

  void Lower() {
    const std::int64_t head_bytes = std::max<std::int64_t>(4, a_.queries * a_.keys * 4);
    const std::int64_t at_once = std::max<std::int64_t>(1, kMaxScoreBytes / head_bytes);
    const std::int64_t heads = a_.group > 1 ? PartOfGroup(at_once) : std::min(a_.heads, at_once);
    const std::int64_t batches =
        std::max<std::int64_t>(1, at_once / std::max<std::int64_t>(heads, 1));
    const std::int64_t bytes = heads * std::min(batches, a_.batch) * a_.queries * a_.keys * 4;
    scores_ = rows_.Scratch(bytes).buffer;
    score_grads_ = a_.backward ? rows_.Scratch(bytes).buffer : nullptr;
    for (std::int64_t b = 0; b < a_.batch; b += batches) {
      for (std::int64_t h = 0; h < a_.heads; h += heads) {
        heads_ = {b, std::min(batches, a_.batch - b), h, std::min(heads, a_.heads - h)};
        a_.backward ? AppendBackward() : AppendForward();
      }
    }
  }

 private:
  // Query heads that share a head of keys and values are launches of their own: all, or equal
  // parts.
  [[nodiscard]] std::int64_t PartOfGroup(std::int64_t most) const {
    std::int64_t heads = a_.group;
    while (heads > most || a_.group % heads != 0) {
      --heads;
    }
    return heads;
  }
  // A (batch, heads, tokens, features) tensor, or its transpose, as a matrix for each head.
  [[nodiscard]] GemmOperand Matrix(const TensorDesc& t, bool transposed = false) {
    const bool shared = a_.group > 1 && t.shape[1] != a_.heads;
    const std::int64_t head = shared ? heads_.h / a_.group : heads_.h;
    return {.buffer = rows_.BufferFor(t),
            .dtype = t.dtype,
            .offset = t.offset + heads_.b * t.strides[0] + head * t.strides[1],
            .batch = {shared ? 0 : t.strides[1], t.strides[0]},
            .row = {t.strides[transposed ? 3 : 2], 0, 0},
            .column = {t.strides[transposed ? 2 : 3], 0, 0}};
  }
  [[nodiscard]] GemmOperand Scores(Buffer* buffer, bool transposed = false) const {
    const std::int64_t size = a_.queries * a_.keys;
    return {.buffer = buffer,
            .batch = {size, size * heads_.heads},
            .row = {transposed ? 1 : a_.keys, 0, 0},
            .column = {transposed ? a_.keys : 1, 0, 0}};
  }

  void Multiply(const GemmOperand& left, const GemmOperand& right, const GemmOperand& result,
                std::array<std::int64_t, 3> mnk, double alpha, GemmTriangle triangle) {
    Append({.m = mnk[0],
            .n = mnk[1],
            .k = mnk[2],
            .batch = {heads_.heads, heads_.batches},
            .a = left,
            .b = right,
            .d = result,
            .alpha = alpha,
            .triangle = a_.causal && a_.shift == 0 ? triangle : GemmTriangle::kAll});
  }
  void Append(const GemmProblem& p) {
    rows_.Append(LowerGemm(p, rows_.context(), kAttentionPartSlot));
  }

  void AppendForward() {
    Multiply(Matrix(*a_.q), Matrix(*a_.k, true), Scores(scores_),
             {a_.queries, a_.keys, a_.features}, a_.scale, GemmTriangle::kResultLower);
    AppendRows("attention_softmax");
    Multiply(Scores(scores_), Matrix(*a_.v), Matrix(*a_.out),
             {a_.queries, a_.value_features, a_.keys}, 1, GemmTriangle::kLeftLower);
  }

  void AppendBackward() {
    Multiply(Matrix(*a_.q), Matrix(*a_.k, true), Scores(scores_),
             {a_.queries, a_.keys, a_.features}, a_.scale, GemmTriangle::kResultLower);
    Multiply(Matrix(*a_.out_grad), Matrix(*a_.v, true), Scores(score_grads_),
             {a_.queries, a_.keys, a_.value_features}, 1, GemmTriangle::kResultLower);
    AppendRows("attention_scores_grad");
    Multiply(Scores(score_grads_), Matrix(*a_.k), Matrix(*a_.q_grad),
             {a_.queries, a_.features, a_.keys}, a_.scale, GemmTriangle::kLeftLower);
    MultiplyTransposed(scores_, *a_.out_grad, *a_.v_grad, 1);
    MultiplyTransposed(score_grads_, *a_.q, *a_.k_grad, a_.scale);
  }

  // result = alpha scores^T right, summed over the query heads of a group: one product whose inner
  // index goes through the queries of each head in turn.
  void MultiplyTransposed(Buffer* scores, const TensorDesc& right, const TensorDesc& result,
                          double alpha) {
    const std::int64_t width = right.shape[3];
    if (a_.group == 1) {
      return Multiply(Scores(scores, true), Matrix(right), Matrix(result),
                      {a_.keys, width, a_.queries}, alpha, GemmTriangle::kLeftUpper);
    }
    GemmProblem p{.m = a_.keys,
                  .n = width,
                  .k = a_.queries * heads_.heads,
                  .batch = {1, heads_.batches},
                  .k_index = {a_.queries, heads_.heads},
                  .a = Scores(scores, true),
                  .b = Matrix(right),
                  .d = Matrix(result),
                  .alpha = alpha};
    p.a.column[1] = a_.queries * a_.keys;
    p.b.row[1] = p.b.batch[0];
    if (heads_.h % a_.group != 0) {  // later parts of the group add to the first
      p.c = p.d;
      p.beta = 1;
    }
    Append(p);
  }

  [[nodiscard]] AttentionArgs RowArgs() const {
    AttentionArgs args = {};
    args.rows = heads_.count() * a_.queries;
    args.heads = heads_.heads;
    args.queries = a_.queries;
    args.keys = a_.keys;
    args.features = a_.value_features;
    args.all_heads = a_.heads;
    args.first_batch = heads_.b;
    args.first_head = heads_.h;
    args.seed = RandomSeed(*a_.out);
    args.dropout = static_cast<float>(a_.dropout);
    args.shift = a_.shift;
    args.window = a_.window;
    args.causal = a_.causal ? 1 : 0;
    args.has_mask = a_.mask != nullptr ? 1 : 0;
    args.has_lse = a_.lse != nullptr ? 1 : 0;
    const auto place = [this](const TensorDesc* t, const std::vector<std::int64_t>& shape,
                              std::int64_t& at, std::int64_t* to) {
      if (t != nullptr) {
        const std::vector<std::int64_t> strides = BroadcastStrides(*t, shape);
        at = t->offset + heads_.b * strides[0] + heads_.h * strides[1];
        std::copy(strides.begin(), strides.end(), to);
      }
    };
    place(a_.mask, {a_.batch, a_.heads, a_.queries, a_.keys}, args.mask_at, args.mask);
    place(a_.lse, {a_.batch, a_.heads, a_.queries}, args.lse_at, args.lse);
    place(a_.out, a_.out->shape, args.out_at, args.out);
    place(a_.out_grad, a_.out->shape, args.grad_at, args.grad);
    return args;
  }

  void AppendRows(std::string entry) {
    const DeviceInfo& device = rows_.device();
    DeviceKernel launch{.program = "attention.cl", .entry = std::move(entry)};
    launch.options =
        std::string("-DACC_NAME=float32") +
        (device.is_cpu ? " -DV=16 -DL=1" : " -DV=4 -DL=" + std::to_string(kAttentionGpuGroup)) +
        TypeOption("T", a_.q->dtype) +
        TypeOption("MASK", a_.mask != nullptr ? a_.mask->dtype : DType::kFloat32);
    const auto append = [&](const TensorDesc* t) {
      launch.args.emplace_back(t == nullptr ? scores_ : rows_.BufferFor(*t));
    };
    launch.args.emplace_back(scores_);
    if (a_.backward) {
      launch.args.emplace_back(score_grads_);
    }
    append(a_.mask);
    append(a_.lse);
    if (a_.backward) {
      append(a_.out);
      append(a_.out_grad);
    }
    const AttentionArgs args = RowArgs();
    launch.args.push_back(StructArg(args));
    const std::int64_t units = std::max(1, device.compute_units);
    const std::int64_t groups =
        device.is_cpu
            ? std::clamp<std::int64_t>(args.rows * a_.keys / kCpuElementsPerItem, 1, units * 4)
            : args.rows;
    launch.local = {device.is_cpu ? 1 : kAttentionGpuGroup, 1, 1};
    launch.global = {static_cast<std::size_t>(std::min(groups, args.rows)) * launch.local[0], 1, 1};
    rows_.Append(Launch(std::move(launch)));
  }

  const AttentionCall& a_;
  RowLowering& rows_;
  Heads heads_ = {};
  Buffer* scores_ = nullptr;       // of `heads_`; stands in for what does not exist
  Buffer* score_grads_ = nullptr;  // the same in the backward
};

}  // namespace

void LowerAttention(const AttentionCall& a, RowLowering& rows) {
  AttentionLowering(a, rows).Lower();
}

}  // namespace reprise
