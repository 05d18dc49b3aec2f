// Attention on the host: by blocks of queries, whose scores against all keys that any of them sees
// stay in a core's cache. Heads are shared by cores.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/cpu/parallel_for.h"
#include "kernels/device_lowering.h"
#include "kernels/ops/attention/attention_host_rows.h"
#include "kernels/ops/attention/attention_run.h"
#include "kernels/ops/common/host_convert.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/losses/softmax_loops.h"
#include "kernels/ops/random/random_draw.h"
#include "kernels/ops/random/random_loops.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// Few enough that a causal mask leaves out nearly half of the blocks.
constexpr std::int64_t kQueries = 32;

// A thread's, kept from call to call: fresh memory takes longer than what is done in it.
struct Scratch {
  std::vector<float> scores, grads;  // of a block
  std::vector<float> mask;           // of a row
  std::vector<std::uint8_t> kept;    // of a row
  PackedRows keys, values;           // as columns
};

// The heads of one part of the work, one after the other.
class HostHeads {
 public:
  HostHeads(const AttentionCall& a, const AttentionMemory& t, Scratch& scratch)
      : a_(a), t_(t), s_(scratch), row_(PanelsOf(a.keys)) {
    s_.scores.resize(Size(kQueries * row_));
    s_.grads.resize(a.backward ? s_.scores.size() : 0);
    s_.kept.resize(a.dropout > 0 ? Size(a.keys) : 0);
    s_.mask.resize(a.mask != nullptr ? Size(a.keys) : 0);
    if (a.mask != nullptr) {
      mask_strides_ = BroadcastStrides(*a.mask, {a.batch, a.heads, a.queries, a.keys});
    }
  }

  void Forward(std::int64_t b, std::int64_t h) {
    if (packed_ != b * a_.heads + h / a_.group) {  // query heads of a group come in sequence
      packed_ = b * a_.heads + h / a_.group;
      s_.keys.Pack(HeadRows(*t_.k, b, h / a_.group), static_cast<float>(a_.scale));
      v_ = HeadRows(*t_.v, b, h / a_.group);
    }
    const HeadRows q(*t_.q, b, h);
    HeadRows out(*t_.out, b, h, HeadRows::kWritten);
    for (std::int64_t first = 0; first < a_.queries; first += kQueries) {
      const Block block = BlockAt(b, h, first);
      SmallProduct(block.rows, block.width, a_.features, q.Left(first), s_.keys.Right(),
                   s_.scores.data(), row_, false);
      for (std::int64_t i = 0; i < block.rows; ++i) {
        factors_[i] = Probabilities(block, i);
      }
      SmallProduct(block.rows, out.width(), block.keys, {s_.scores.data(), row_, 1}, v_.Right(0),
                   out.row(first), out.stride(), false);
      for (std::int64_t i = 0; i < block.rows; ++i) {
        float* row = out.row(first + i);
        loops::ScaleShift(row, factors_[i], 0, row, out.width());
      }
    }
    out.Store();
  }

  // One head of keys and values, and the query heads that share it.
  void Backward(std::int64_t b, std::int64_t shared) {
    const HeadRows k(*t_.k, b, shared);
    s_.keys.Pack(k, static_cast<float>(a_.scale));
    s_.values.Pack(HeadRows(*t_.v, b, shared), 1);
    HeadRows dk(*t_.k_grad, b, shared, HeadRows::kZeroed);
    HeadRows dv(*t_.v_grad, b, shared, HeadRows::kZeroed);
    for (std::int64_t h = shared * a_.group; h < (shared + 1) * a_.group; ++h) {
      BackwardHead(b, h, k, dk, dv);
    }
    dk.Scale(static_cast<float>(a_.scale));
    dk.Store();
    dv.Store();
  }

 private:
  // Queries first … first + rows - 1 of a head; the first `keys` keys are seen by some of them.
  struct Block {
    std::int64_t b, h, first, rows;
    std::int64_t keys, width;  // the width is rounded up
  };

  static std::size_t Size(std::int64_t n) { return static_cast<std::size_t>(n); }
  [[nodiscard]] std::int64_t Seen(std::int64_t query) const {
    return a_.causal ? std::min(a_.keys, query + 1) : a_.keys;
  }
  [[nodiscard]] Block BlockAt(std::int64_t b, std::int64_t h, std::int64_t first) const {
    const std::int64_t rows = std::min(kQueries, a_.queries - first);
    const std::int64_t keys = Seen(first + rows - 1);
    return {b, h, first, rows, keys, WholeSteps(keys)};
  }

  // Row i's scores with the mask; returns how many keys of it count. What fills the last step is
  // minus infinity, so that loops need no remainders.
  std::int64_t Mask(const Block& block, std::int64_t i) {
    const std::int64_t n = Seen(block.first + i);
    float* row = s_.scores.data() + i * row_;
    std::fill(row + n, row + WholeSteps(n), -INFINITY);
    if (a_.mask != nullptr) {
      const auto& s = mask_strides_;
      LoadRun(t_.mask->data(), a_.mask->dtype,
              a_.mask->offset + block.b * s[0] + block.h * s[1] + (block.first + i) * s[2], s[3],
              s_.mask.data(), n);
      if (a_.mask->dtype == DType::kBool) {
        loops::MaskOut(s_.mask.data(), row, n);
      } else {
        loops::Accumulate(s_.mask.data(), loops::Map::kValue, row, n);
      }
    }
    return n;
  }

  // Multiplies x with what dropout multiplies row i with: KeptByDropout().
  void Drop(const Block& block, std::int64_t i, float* x, std::int64_t n) {
    if (a_.dropout > 0) {
      const std::int64_t row = (block.b * a_.heads + block.h) * a_.queries + block.first + i;
      loops::Dropout(x, RandomSeed(*a_.out), row * a_.keys, static_cast<float>(a_.dropout),
                     static_cast<float>(1 / (1 - a_.dropout)), x, s_.kept.data(), n);
    }
  }

  // Row i's scores become probabilities but for the factor that is returned.
  float Probabilities(const Block& block, std::int64_t i) {
    const std::int64_t n = Mask(block, i);
    float* row = s_.scores.data() + i * row_;
    const float most = loops::Max(row, WholeSteps(n));
    const float shift = most == -INFINITY ? 0 : most;
    // A row without any key that counts is all zero.
    const double sum = most == -INFINITY ? 0 : loops::ExpSum(row, shift, row, WholeSteps(n));
    if (t_.lse) {
      const std::int64_t index[] = {block.b, block.h, block.first + i};
      t_.lse->Set(t_.lse->OffsetOf(index), shift + std::log(sum));
    }
    Drop(block, i, row, n);
    std::fill(row + (sum == 0 ? 0 : n), row + block.keys, 0.0F);
    return sum == 0 ? 0 : static_cast<float>(1 / sum);
  }

  // Row i's scores become probabilities and gradients of probabilities those of scores, but for
  // the scale: dS = P (dP - delta).
  void Gradients(const Block& block, std::int64_t i, float delta) {
    const std::int64_t index[] = {block.b, block.h, block.first + i};
    const auto shift = static_cast<float>(t_.lse->Get(t_.lse->OffsetOf(index)));
    const std::int64_t seen = Mask(block, i);
    const std::int64_t n = shift == -INFINITY ? 0 : seen;
    float* p = s_.scores.data() + i * row_;
    float* ds = s_.grads.data() + i * row_;
    loops::Exp(p, shift, p, WholeSteps(n));
    Drop(block, i, ds, n);
    loops::SoftmaxGradient(ds, p, delta, ds, WholeSteps(n));
    Drop(block, i, p, n);
    std::fill(p + n, p + block.keys, 0.0F);
    std::fill(ds + n, ds + block.keys, 0.0F);
  }

  void BackwardHead(std::int64_t b, std::int64_t h, const HeadRows& k, HeadRows& dk, HeadRows& dv) {
    const HeadRows q(*t_.q, b, h);
    const HeadRows out(*t_.out, b, h);
    const HeadRows out_grad(*t_.out_grad, b, h);
    HeadRows dq(*t_.q_grad, b, h, HeadRows::kWritten);
    for (std::int64_t first = 0; first < a_.queries; first += kQueries) {
      const Block block = BlockAt(b, h, first);
      SmallProduct(block.rows, block.width, a_.features, q.Left(first), s_.keys.Right(),
                   s_.scores.data(), row_, false);
      SmallProduct(block.rows, block.width, a_.value_features, out_grad.Left(first),
                   s_.values.Right(), s_.grads.data(), row_, false);
      for (std::int64_t i = 0; i < block.rows; ++i) {
        const double delta =
            loops::SumProducts(out.row(first + i), out_grad.row(first + i), 0, a_.value_features);
        Gradients(block, i, static_cast<float>(delta));
      }
      SmallProduct(block.rows, dq.width(), block.keys, {s_.grads.data(), row_, 1}, k.Right(0),
                   dq.row(first), dq.stride(), false);
      SmallProduct(block.keys, dv.width(), block.rows, {s_.scores.data(), 1, row_},
                   out_grad.Right(first), dv.row(0), dv.stride(), true);
      SmallProduct(block.keys, dk.width(), block.rows, {s_.grads.data(), 1, row_}, q.Right(first),
                   dk.row(0), dk.stride(), true);
    }
    dq.Scale(static_cast<float>(a_.scale));
    dq.Store();
  }

  const AttentionCall& a_;
  const AttentionMemory& t_;
  Scratch& s_;
  std::int64_t row_;  // from one row of scores to the next
  std::vector<std::int64_t> mask_strides_;
  std::array<float, kQueries> factors_ = {};
  std::int64_t packed_ = -1;  // whose keys these are in the forward
  HeadRows v_;
};

}  // namespace

Status RunAttentionOnHost(const AttentionCall& a, const HostBindings& memory) {
  REPRISE_ASSIGN(const AttentionMemory t, AttentionMemory::Bind(a, memory));
  const std::int64_t count = a.batch * (a.backward ? a.heads / a.group : a.heads);
  // A head's multiply-adds by what a core does in the time that it moves a byte.
  constexpr double kPerByte = 4;
  const double work = AttentionPairs(a) * static_cast<double>(a.features + a.value_features) *
                      (a.backward ? 2.5 : 1) / static_cast<double>(count);
  ParallelFor(count, GrainSize(work / kPerByte), [&](std::int64_t begin, std::int64_t end) {
    static thread_local Scratch scratch;
    HostHeads heads(a, t, scratch);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t per_batch = count / a.batch;
      a.backward ? heads.Backward(i / per_batch, i % per_batch)
                 : heads.Forward(i / per_batch, i % per_batch);
    }
  });
  return {};
}

}  // namespace reprise
