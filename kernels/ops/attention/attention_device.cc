#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "kernels/device_lowering.h"
#include "kernels/ops/attention/attention_run.h"
#include "kernels/ops/products/gemm_launch.h"
#include "kernels/ops/random/random_draw.h"

namespace reprise {
namespace {

// Scores of as many heads as fit are in memory at once.
constexpr std::int64_t kMaxScoreBytes = std::int64_t{256} << 20;
constexpr int kScoresSlot = 0;
constexpr int kScoreGradsSlot = 1;
constexpr int kAttentionPartSlot = 2;
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
  AttentionLowering(const AttentionCall& a, const LowerContext& context)
      : a_(a), context_(context) {}

  [[nodiscard]] Result<std::vector<Launch>> Lower() {
    const std::int64_t head_bytes = std::max<std::int64_t>(4, a_.queries * a_.keys * 4);
    const std::int64_t at_once = std::max<std::int64_t>(1, kMaxScoreBytes / head_bytes);
    const std::int64_t heads = a_.group > 1 ? PartOfGroup(at_once) : std::min(a_.heads, at_once);
    const std::int64_t batches =
        std::max<std::int64_t>(1, at_once / std::max<std::int64_t>(heads, 1));
    for (std::int64_t b = 0; b < a_.batch; b += batches) {
      for (std::int64_t h = 0; h < a_.heads; h += heads) {
        heads_ = {b, std::min(batches, a_.batch - b), h, std::min(heads, a_.heads - h)};
        REPRISE_TRY(a_.backward ? AppendBackward() : AppendForward());
      }
    }
    return std::move(launches_);
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
  [[nodiscard]] Result<GemmOperand> Matrix(const TensorDesc& t, bool transposed = false) const {
    REPRISE_ASSIGN(Buffer * buffer, BufferOf(t, context_));
    GemmOperand x;
    x.buffer = buffer;
    x.dtype = t.dtype;
    const bool shared = a_.group > 1 && t.shape[1] != a_.heads;
    const std::int64_t head = shared ? heads_.h / a_.group : heads_.h;
    x.offset = t.offset + heads_.b * t.strides[0] + head * t.strides[1];
    x.batch = {shared ? 0 : t.strides[1], t.strides[0]};
    x.row = {t.strides[transposed ? 3 : 2], 0, 0};
    x.column = {t.strides[transposed ? 2 : 3], 0, 0};
    return x;
  }
  [[nodiscard]] Result<GemmOperand> Scores(int slot, bool transposed = false) const {
    const std::int64_t size = a_.queries * a_.keys;
    REPRISE_ASSIGN(Buffer * buffer, context_.scratch(slot, heads_.count() * size * 4));
    GemmOperand x;
    x.buffer = buffer;
    x.batch = {size, size * heads_.heads};
    x.row = {transposed ? 1 : a_.keys, 0, 0};
    x.column = {transposed ? a_.keys : 1, 0, 0};
    return x;
  }

  [[nodiscard]] Status Multiply(Result<GemmOperand> left, Result<GemmOperand> right,
                                Result<GemmOperand> result, std::array<std::int64_t, 3> mnk,
                                double alpha, GemmTriangle triangle) {
    GemmProblem p;
    REPRISE_ASSIGN(p.a, std::move(left));
    REPRISE_ASSIGN(p.b, std::move(right));
    REPRISE_ASSIGN(p.d, std::move(result));
    p.m = mnk[0];
    p.n = mnk[1];
    p.k = mnk[2];
    p.batch = {heads_.heads, heads_.batches};
    p.alpha = alpha;
    p.triangle = a_.causal ? triangle : GemmTriangle::kAll;
    return AppendGemm(p, context_, kAttentionPartSlot, launches_);
  }

  [[nodiscard]] Status AppendForward() {
    REPRISE_TRY(Multiply(Matrix(*a_.q), Matrix(*a_.k, true), Scores(kScoresSlot),
                         {a_.queries, a_.keys, a_.features}, a_.scale, GemmTriangle::kResultLower));
    REPRISE_TRY(AppendRows("attention_softmax"));
    return Multiply(Scores(kScoresSlot), Matrix(*a_.v), Matrix(*a_.out),
                    {a_.queries, a_.value_features, a_.keys}, 1, GemmTriangle::kLeftLower);
  }

  [[nodiscard]] Status AppendBackward() {
    REPRISE_TRY(Multiply(Matrix(*a_.q), Matrix(*a_.k, true), Scores(kScoresSlot),
                         {a_.queries, a_.keys, a_.features}, a_.scale, GemmTriangle::kResultLower));
    REPRISE_TRY(Multiply(Matrix(*a_.out_grad), Matrix(*a_.v, true), Scores(kScoreGradsSlot),
                         {a_.queries, a_.keys, a_.value_features}, 1, GemmTriangle::kResultLower));
    REPRISE_TRY(AppendRows("attention_scores_grad"));
    REPRISE_TRY(Multiply(Scores(kScoreGradsSlot), Matrix(*a_.k), Matrix(*a_.q_grad),
                         {a_.queries, a_.features, a_.keys}, a_.scale, GemmTriangle::kLeftLower));
    REPRISE_TRY(MultiplyTransposed(kScoresSlot, *a_.out_grad, *a_.v_grad, 1));
    return MultiplyTransposed(kScoreGradsSlot, *a_.q, *a_.k_grad, a_.scale);
  }

  // result = alpha scores^T right, summed over the query heads of a group: one product whose inner
  // index goes through the queries of each head in turn.
  [[nodiscard]] Status MultiplyTransposed(int slot, const TensorDesc& right,
                                          const TensorDesc& result, double alpha) {
    const std::int64_t width = right.shape[3];
    if (a_.group == 1) {
      return Multiply(Scores(slot, true), Matrix(right), Matrix(result),
                      {a_.keys, width, a_.queries}, alpha, GemmTriangle::kLeftUpper);
    }
    GemmProblem p;
    REPRISE_ASSIGN(p.a, Scores(slot, true));
    REPRISE_ASSIGN(p.b, Matrix(right));
    REPRISE_ASSIGN(p.d, Matrix(result));
    p.m = a_.keys;
    p.n = width;
    p.k = a_.queries * heads_.heads;
    p.k_index = {a_.queries, heads_.heads};
    p.a.column = {p.a.column[0], a_.queries * a_.keys, 0};
    p.b.row = {p.b.row[0], p.b.batch[0], 0};
    p.batch = {1, heads_.batches};
    p.alpha = alpha;
    if (heads_.h % a_.group != 0) {  // later parts of the group add to the first
      p.c = p.d;
      p.beta = 1;
    }
    return AppendGemm(p, context_, kAttentionPartSlot, launches_);
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
    args.causal = a_.causal ? 1 : 0;
    args.has_mask = a_.mask != nullptr ? 1 : 0;
    args.has_lse = a_.lse != nullptr ? 1 : 0;
    const auto place = [this](const TensorDesc* t, std::vector<std::int64_t> strides,
                              std::int64_t& at, std::int64_t* to) {
      if (t != nullptr) {
        at = t->offset + heads_.b * strides[0] + heads_.h * strides[1];
        std::copy(strides.begin(), strides.end(), to);
      }
    };
    if (a_.mask != nullptr) {
      const std::vector shape = {a_.batch, a_.heads, a_.queries, a_.keys};
      place(a_.mask, BroadcastStrides(*a_.mask, shape), args.mask_at, args.mask);
    }
    if (a_.lse != nullptr) {
      place(a_.lse, a_.lse->strides, args.lse_at, args.lse);
    }
    place(a_.out, a_.out->strides, args.out_at, args.out);
    if (a_.backward) {
      place(a_.out_grad, a_.out_grad->strides, args.grad_at, args.grad);
    }
    return args;
  }

  [[nodiscard]] Status AppendRows(std::string entry) {
    const bool cpu = context_.device.is_cpu;
    DeviceKernel launch;
    launch.program = "attention.cl";
    launch.entry = std::move(entry);
    launch.options = std::string("-DACC_NAME=float32") +
                     (cpu ? " -DV=16 -DL=1" : " -DV=4 -DL=" + std::to_string(kAttentionGpuGroup)) +
                     TypeOption("T", a_.q->dtype) +
                     TypeOption("MASK", a_.mask != nullptr ? a_.mask->dtype : DType::kFloat32);
    REPRISE_ASSIGN(const GemmOperand scores, Scores(kScoresSlot));
    const auto append = [&](const TensorDesc* t) -> Status {
      launch.args.emplace_back(scores.buffer);  // stands in for what does not exist
      if (t != nullptr) {
        REPRISE_ASSIGN(launch.args.back(), BufferOf(*t, context_));
      }
      return {};
    };
    launch.args.emplace_back(scores.buffer);
    if (a_.backward) {
      REPRISE_ASSIGN(const GemmOperand grads, Scores(kScoreGradsSlot));
      launch.args.emplace_back(grads.buffer);
    }
    REPRISE_TRY(append(a_.mask));
    REPRISE_TRY(append(a_.lse));
    if (a_.backward) {
      REPRISE_TRY(append(a_.out));
      REPRISE_TRY(append(a_.out_grad));
    }
    const AttentionArgs args = RowArgs();
    launch.args.push_back(StructArg(args));
    const std::int64_t units = std::max(1, context_.device.compute_units);
    const std::int64_t groups =
        cpu ? std::clamp<std::int64_t>(args.rows * a_.keys / kCpuElementsPerItem, 1, units * 4)
            : args.rows;
    launch.local = {cpu ? 1 : kAttentionGpuGroup, 1, 1};
    launch.global = {static_cast<std::size_t>(std::min(groups, args.rows)) * launch.local[0], 1, 1};
    launches_.emplace_back(std::move(launch));
    return {};
  }

  const AttentionCall& a_;
  const LowerContext& context_;
  Heads heads_ = {};
  std::vector<Launch> launches_;
};

}  // namespace

Result<std::vector<Launch>> LowerAttention(const AttentionCall& a, const LowerContext& context) {
  return AttentionLowering(a, context).Lower();
}

}  // namespace reprise
