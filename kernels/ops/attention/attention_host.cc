// Attention on the host: by blocks of queries, whose scores against all keys that any of them sees
// stay in a core's cache. Heads are shared by cores.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/cpu/parallel_for.h"
#include "kernels/device_lowering.h"
#include "kernels/ops/attention/attention_call.h"
#include "kernels/ops/attention/attention_host_rows.h"
#include "kernels/ops/common/host_convert.h"
#include "kernels/ops/common/host_loops.h"
#include "kernels/ops/losses/softmax_loops.h"
#include "kernels/ops/random/random_draw.h"
#include "kernels/ops/random/random_loops.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// Few enough that a causal mask leaves out nearly half of the blocks.
constexpr std::int64_t kQueries = 64;

// A thread's, kept from call to call: fresh memory takes longer than what is done in it.
struct Scratch {
  std::vector<float> scores, grads;  // of a block
  std::vector<float> mask;           // of a row
  std::vector<std::uint8_t> kept;    // of a row
};

// The heads of one part of the work, one after the other.
class HostHeads {
 public:
  HostHeads(const AttentionCall& a, const AttentionMemory& t, const Blas* blas, Scratch& scratch)
      : a_(a), t_(t), blas_(blas), s_(scratch) {
    s_.scores.resize(Size(kQueries * a.keys));
    s_.grads.resize(a.backward ? s_.scores.size() : 0);
    s_.kept.resize(a.dropout > 0 ? Size(a.keys) : 0);
    s_.mask.resize(a.mask != nullptr ? Size(a.keys) : 0);
    if (a.mask != nullptr) {
      mask_strides_ = BroadcastStrides(*a.mask, {a.batch, a.heads, a.queries, a.keys});
    }
  }

  Status Forward(std::int64_t b, std::int64_t h) {
    if (shared_ != b * a_.heads + h / a_.group) {  // query heads of a group come in sequence
      shared_ = b * a_.heads + h / a_.group;
      k_ = HeadRows(*t_.k, b, h / a_.group);
      v_ = HeadRows(*t_.v, b, h / a_.group);
    }
    const HeadRows q(*t_.q, b, h);
    HeadRows out(*t_.out, b, h, HeadRows::kWritten);
    for (std::int64_t first = 0; first < a_.queries; first += kQueries) {
      const Block block = BlockAt(b, h, first);
      REPRISE_TRY(Multiply(block.rows, block.keys, a_.features, scale(), q.Rows(first),
                           k_.Columns(block.begin), 0, Scores(block)));
      for (std::int64_t i = 0; i < block.rows; ++i) {
        factors_[i] = Probabilities(block, i);
      }
      REPRISE_TRY(Multiply(block.rows, out.features(), block.keys, 1, Scores(block),
                           v_.Rows(block.begin), 0, out.Rows(first)));
      for (std::int64_t i = 0; i < block.rows; ++i) {
        float* row = out.row(first + i);
        loops::ScaleShift(row, factors_[i], 0, row, out.features());
      }
    }
    out.Store();
    return {};
  }

  // One head of keys and values, and the query heads that share it.
  Status Backward(std::int64_t b, std::int64_t shared) {
    k_ = HeadRows(*t_.k, b, shared);
    v_ = HeadRows(*t_.v, b, shared);
    HeadRows dk(*t_.k_grad, b, shared, HeadRows::kZeroed);
    HeadRows dv(*t_.v_grad, b, shared, HeadRows::kZeroed);
    for (std::int64_t h = shared * a_.group; h < (shared + 1) * a_.group; ++h) {
      REPRISE_TRY(BackwardHead(b, h, dk, dv));
    }
    dk.Store();
    dv.Store();
    return {};
  }

 private:
  // Queries first … first + rows - 1 of a head; `keys` keys from `begin` on are seen by some.
  struct Block {
    std::int64_t b, h, first, rows;
    std::int64_t begin, keys;
  };

  static std::size_t Size(std::int64_t n) { return static_cast<std::size_t>(n); }
  [[nodiscard]] std::int64_t Seen(std::int64_t query) const {
    return a_.causal ? std::min(a_.keys, query + 1 + a_.shift) : a_.keys;
  }
  // Keys before the query's window.
  [[nodiscard]] std::int64_t Unseen(std::int64_t query) const {
    return a_.window > 0 ? std::max<std::int64_t>(0, query + 1 + a_.shift - a_.window) : 0;
  }
  [[nodiscard]] Block BlockAt(std::int64_t b, std::int64_t h, std::int64_t first) const {
    const std::int64_t rows = std::min(kQueries, a_.queries - first);
    const std::int64_t begin = Unseen(first);
    return {b, h, first, rows, begin, Seen(first + rows - 1) - begin};
  }

  [[nodiscard]] float scale() const { return static_cast<float>(a_.scale); }
  // A block's scores, and their gradients.
  [[nodiscard]] HostMatrix Scores(const Block& block) const {
    return FloatMatrix(s_.scores.data(), block.keys, 1);
  }
  [[nodiscard]] HostMatrix Grads(const Block& block) const {
    return FloatMatrix(s_.grads.data(), block.keys, 1);
  }
  // HostGemm by the call's BLAS.
  [[nodiscard]] Status Multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                                const HostMatrix& a, const HostMatrix& b, float beta,
                                const HostMatrix& d) const {
    return HostGemm(m, n, k, alpha, a, b, beta, d, blas_);
  }

  // Row i's scores with the mask, and without what is before its window; returns how many keys of
  // the block it sees.
  std::int64_t Mask(const Block& block, std::int64_t i) {
    const std::int64_t n = Seen(block.first + i) - block.begin;
    float* row = s_.scores.data() + i * block.keys;
    std::fill_n(row, Unseen(block.first + i) - block.begin, -INFINITY);
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
      loops::Dropout(x, RandomSeed(*a_.out), row * a_.keys + block.begin,
                     static_cast<float>(a_.dropout), static_cast<float>(1 / (1 - a_.dropout)), x,
                     s_.kept.data(), n);
    }
  }

  // Row i's scores become probabilities but for the factor that is returned.
  float Probabilities(const Block& block, std::int64_t i) {
    const std::int64_t n = Mask(block, i);
    float* row = s_.scores.data() + i * block.keys;
    const float most = loops::Max(row, n);
    const float shift = most == -INFINITY ? 0 : most;
    // A row without any key that counts is all zero.
    const double sum = most == -INFINITY ? 0 : loops::ExpSum(row, shift, row, n);
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
    float* p = s_.scores.data() + i * block.keys;
    float* ds = s_.grads.data() + i * block.keys;
    loops::Exp(p, shift, p, n);
    Drop(block, i, ds, n);
    loops::SoftmaxGradient(ds, p, delta, ds, n);
    Drop(block, i, p, n);
    std::fill(p + n, p + block.keys, 0.0F);
    std::fill(ds + n, ds + block.keys, 0.0F);
  }

  Status BackwardHead(std::int64_t b, std::int64_t h, HeadRows& dk, HeadRows& dv) {
    const HeadRows q(*t_.q, b, h);
    const HeadRows out(*t_.out, b, h);
    const HeadRows out_grad(*t_.out_grad, b, h);
    HeadRows dq(*t_.q_grad, b, h, HeadRows::kWritten);
    for (std::int64_t first = 0; first < a_.queries; first += kQueries) {
      const Block block = BlockAt(b, h, first);
      REPRISE_TRY(Multiply(block.rows, block.keys, a_.features, scale(), q.Rows(first),
                           k_.Columns(block.begin), 0, Scores(block)));
      REPRISE_TRY(Multiply(block.rows, block.keys, a_.value_features, 1, out_grad.Rows(first),
                           v_.Columns(block.begin), 0, Grads(block)));
      for (std::int64_t i = 0; i < block.rows; ++i) {
        const double delta =
            loops::SumProducts(out.row(first + i), out_grad.row(first + i), 0, a_.value_features);
        Gradients(block, i, static_cast<float>(delta));
      }
      REPRISE_TRY(Multiply(block.rows, a_.features, block.keys, scale(), Grads(block),
                           k_.Rows(block.begin), 0, dq.Rows(first)));
      REPRISE_TRY(Multiply(block.keys, a_.value_features, block.rows, 1,
                           FloatMatrix(s_.scores.data(), 1, block.keys), out_grad.Rows(first), 1,
                           dv.Rows(block.begin)));
      REPRISE_TRY(Multiply(block.keys, a_.features, block.rows, scale(),
                           FloatMatrix(s_.grads.data(), 1, block.keys), q.Rows(first), 1,
                           dk.Rows(block.begin)));
    }
    dq.Store();
    return {};
  }

  const AttentionCall& a_;
  const AttentionMemory& t_;
  const Blas* blas_;
  Scratch& s_;
  std::vector<std::int64_t> mask_strides_;
  std::array<float, kQueries> factors_ = {};
  std::int64_t shared_ = -1;  // whose keys and values these are in the forward
  HeadRows k_, v_;
};

}  // namespace

Status RunAttentionOnHost(const AttentionCall& a, const HostBindings& memory) {
  REPRISE_ASSIGN(const AttentionMemory t, AttentionMemory::Bind(a, memory));
  const std::int64_t count = a.batch * (a.backward ? a.heads / a.group : a.heads);
  // A head's multiply-adds by what a core does in the time that it moves a byte.
  constexpr double kPerByte = 4;
  const double work = AttentionPairs(a) * static_cast<double>(a.features + a.value_features) *
                      (a.backward ? 2.5 : 1) / static_cast<double>(count);
  return TryParallelFor(count, GrainSize(work / kPerByte),
                        [&](std::int64_t begin, std::int64_t end) -> Status {
                          static thread_local Scratch scratch;
                          HostHeads heads(a, t, memory.blas(), scratch);
                          for (std::int64_t i = begin; i < end; ++i) {
                            const std::int64_t per_batch = count / a.batch;
                            REPRISE_TRY(a.backward ? heads.Backward(i / per_batch, i % per_batch)
                                                   : heads.Forward(i / per_batch, i % per_batch));
                          }
                          return {};
                        });
}

}  // namespace reprise
