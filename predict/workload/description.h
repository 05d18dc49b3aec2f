// A training job as data: the model's shape, how it is laid out on ranks, the batch and the
// schedule. Everything that the generator writes follows from it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/enum_names.h"
#include "predict/workload/lora.h"

namespace reprise {

// Sizes in elements.
struct ModelShape {
  std::string family = "gpt";  // predict/workload/families.def
  std::int64_t layers = 0, hidden = 0, heads = 0;
  std::int64_t kv_heads = 0;   // heads of keys and values; heads: no grouping
  std::int64_t head_size = 0;  // of queries and keys; hidden / heads
  std::int64_t ffn = 0;        // inner width of the feed-forward block
  bool gated_ffn = false;      // three matrices (SwiGLU) in place of two
  std::int64_t vocab = 0, sequence = 0;
  std::int64_t experts = 0, top_k = 0;    // 0: dense
  std::optional<double> capacity_factor;  // of an expert's even share; none: no limit
  bool drop_tokens = false;               // beyond capacity: dropped; else all are padded to it
  // Layers without experts: the first ones, and all but each n-th. Their width is dense_ffn; 0:
  // ffn.
  std::int64_t dense_layers = 0, experts_every = 1, dense_ffn = 0;
  std::int64_t shared_ffn = 0;  // inner width of what every token takes beside its experts; 0: none
  bool shared_gate = false;     // a learned share of that, by token
  bool router_bias = false;
  std::string router_scores = "softmax";  // or sigmoid, with a bias that balances the choice
  bool normalized_gates = false;          // those of the chosen experts add up to 1
  // A token chooses among the experts of so many of the groups (DeepSeek); 0: of all.
  std::int64_t expert_groups = 0, groups_per_token = 0;
  bool grouped_experts = false;  // one product for all of a rank's experts (aten::_grouped_mm)
  DType dtype = DType::kBFloat16;

  // What the family presets and a description may change.
  bool rms_norm = false, bias = true, tied_embeddings = true;
  // Of matrices of one kind; nothing: as `bias` says.
  std::optional<bool> qkv_bias, out_bias, ffn_bias;
  std::string activation;       // gelu, silu, relu2, clamped_silu; empty: silu if gated, else gelu
  bool rotary = false;          // else learned positions, or alibi's
  std::int64_t positions = 0;   // that are learned; 0: as many as the sequence has
  bool alibi = false;           // a bias of scores by distance, in place of positions
  bool embedding_norm = false;  // behind the embedding
  bool qk_norm = false;         // RMS norm of each head's queries and keys
  bool sinks = false;           // a learned score of each head for no key at all
  // Tokens that a query sees, its own among them; 0: all before it. Each n-th layer has no window.
  std::int64_t window = 0, full_attention_every = 0;
  // Latent attention (DeepSeek-V2, arXiv 2405.04434): keys and values from kv_rank numbers a token,
  // queries from q_rank (0: from all). rotary_size features of a head are turned, in other models,
  // too (0: all); a head's values have value_size features (0: head_size).
  std::int64_t kv_rank = 0, q_rank = 0, rotary_size = 0, value_size = 0;
  std::int64_t mtp_layers = 0;  // multi-token prediction: layers behind the last, each with a loss
  bool causal = true;           // attention sees earlier tokens only
  bool fused_qkv = true;        // one matrix for queries, keys and values
  bool fused_attention = true;  // else scores, softmax and their product are written
  bool batch_first = false;     // activations are (batch, sequence, …), not Megatron's order
  double dropout = 0;           // of embeddings, attention and both residual branches
  std::string count_exchange = "all_gather";  // of tokens per expert: all_gather, all_to_all, none

  // Vision and diffusion transformers.
  std::int64_t image = 0, patch = 0, channels = 3, classes = 0;
  // Recommendation models: tables of `rows` by hidden, looked up `lookups` times a sample.
  std::vector<std::int64_t> tables;
  std::int64_t lookups = 0, dense_features = 0;
  std::vector<std::int64_t> bottom_mlp, top_mlp;  // widths of the layers
  bool operator==(const ModelShape&) const = default;

  // By number of the layer.
  [[nodiscard]] bool HasExperts(std::int64_t layer) const {
    return experts > 0 && layer >= dense_layers && (layer + 1) % experts_every == 0;
  }
  [[nodiscard]] std::int64_t WindowOf(std::int64_t layer) const {
    const bool full = full_attention_every > 0 && (layer + 1) % full_attention_every == 0;
    return full || window >= sequence ? 0 : window;
  }
  // Vision and diffusion transformers.
  [[nodiscard]] bool OfImages() const { return family == "vit" || family == "dit"; }
  [[nodiscard]] bool LatentAttention() const { return kv_rank > 0; }
  // The last stage of a pipeline has a copy of the embedding: it is the head, or predicts more.
  [[nodiscard]] bool EmbeddingAtBothEnds() const { return tied_embeddings || mtp_layers > 0; }
};

// The model's sizes by the names that descriptions give them, with the least that each may be, in
// general and of the families that have other models.
struct ModelSize {
  std::string_view name;
  std::int64_t ModelShape::*of;
  std::int64_t least, least_images, least_dlrm;
};
inline constexpr ModelSize kModelSizes[] = {
    {"layers", &ModelShape::layers, 1, 1, 1},
    {"hidden", &ModelShape::hidden, 1, 1, 1},
    {"heads", &ModelShape::heads, 1, 1, 0},
    {"kv_heads", &ModelShape::kv_heads, 1, 1, 0},
    {"head_size", &ModelShape::head_size, 1, 1, 0},
    {"ffn", &ModelShape::ffn, 1, 1, 0},
    {"vocab", &ModelShape::vocab, 1, 0, 0},
    {"sequence", &ModelShape::sequence, 1, 1, 0},
    {"experts", &ModelShape::experts, 0, 0, 0},
    {"top_k", &ModelShape::top_k, 0, 0, 0},
    {"dense_layers", &ModelShape::dense_layers, 0, 0, 0},
    {"experts_every", &ModelShape::experts_every, 1, 1, 1},
    {"dense_ffn", &ModelShape::dense_ffn, 0, 0, 0},
    {"shared_ffn", &ModelShape::shared_ffn, 0, 0, 0},
    {"expert_groups", &ModelShape::expert_groups, 0, 0, 0},
    {"groups_per_token", &ModelShape::groups_per_token, 0, 0, 0},
    {"positions", &ModelShape::positions, 0, 0, 0},
    {"window", &ModelShape::window, 0, 0, 0},
    {"full_attention_every", &ModelShape::full_attention_every, 0, 0, 0},
    {"kv_rank", &ModelShape::kv_rank, 0, 0, 0},
    {"q_rank", &ModelShape::q_rank, 0, 0, 0},
    {"rotary_size", &ModelShape::rotary_size, 0, 0, 0},
    {"value_size", &ModelShape::value_size, 0, 0, 0},
    {"mtp_layers", &ModelShape::mtp_layers, 0, 0, 0},
    {"image", &ModelShape::image, 0, 1, 0},
    {"patch", &ModelShape::patch, 0, 1, 0},
    {"channels", &ModelShape::channels, 1, 1, 1},
    {"classes", &ModelShape::classes, 0, 1, 0},
    {"lookups", &ModelShape::lookups, 0, 0, 0},
    {"dense_features", &ModelShape::dense_features, 0, 0, 1},
};

// How keys and values of context parallelism's other ranks come to a rank's queries, by the names
// of Megatron-LM's --cp-comm-type: round a ring; gathered (Llama 3, arXiv 2407.21783, section
// 3.3.2); sequences of a part of the heads in place of all heads of a part of the sequence
// (DeepSpeed-Ulysses, arXiv 2309.14509).
enum class ContextComm : std::uint8_t { kRing, kAllGather, kAllToAll };
REPRISE_NAMES(ContextComm, "p2p", "all_gather", "a2a");

// Ranks are numbered as Megatron numbers them: tensor, context, data (experts innermost), pipeline.
struct Layout {
  std::int64_t tp = 1, pp = 1, dp = 1, ep = 1, cp = 1;
  ContextComm cp_comm_type = ContextComm::kRing;
  // Ranks that divide an expert's matrices (Megatron-LM's --expert-tensor-parallel-size): a stage's
  // ranks are etp x ep x replicas of experts, in this order. Each rank sends its own tokens. 0:
  // experts are divided as dense layers are, among data-parallel ranks, and tensor-parallel ranks
  // send the same tokens.
  std::int64_t etp = 0;
  bool fsdp = false, sequence_parallel = false;
  // FSDP: neighbouring data-parallel ranks that divide the parameters. Groups of them are replicas,
  // which sum their gradients (HSDP). 0: all of them divide, one replica.
  std::int64_t shards = 0;
  bool distributed_optimizer = false;  // optimizer states divided among data-parallel ranks
  // Gradients, too: each micro-batch's are reduced and scattered, and a rank sums its part alone.
  // Needs distributed_optimizer.
  bool divided_gradients = false;
  // Hidden states travel between stages in tp parts, and are gathered from them (Narayanan et al.
  // 2021, arXiv 2104.04473, section 4.1). With sequence parallelism they are in parts already.
  bool scatter_gather = false;
  bool vocab_parallel = true;                  // embedding and head are divided, too, if tp > 1
  bool reshard_root = true;                    // FSDP: embedding and head are gathered again, too
  std::vector<std::int64_t> layers_per_stage;  // of each stage in order; empty: equal
  [[nodiscard]] std::int64_t ranks() const { return tp * cp * dp * pp; }
  // Experts have other ranks than dense layers.
  [[nodiscard]] bool experts_apart() const { return ep > 1 || etp > 0; }
  // Ranks with the same part of the same experts.
  [[nodiscard]] std::int64_t expert_replicas() const {
    return etp > 0 ? tp * cp * dp / (etp * ep) : cp * (dp / ep);
  }
  [[nodiscard]] std::int64_t replicas() const { return shards > 0 ? dp / shards : 1; }
  // Stage of ZeRO (Rajbhandari et al. 2019, arXiv 1910.02054): what data-parallel ranks divide. 0:
  // nothing; 1: optimizer states; 2: gradients, too; 3: parameters, too.
  [[nodiscard]] std::int64_t zero() const {
    return fsdp ? 3 : divided_gradients ? 2 : distributed_optimizer ? 1 : 0;
  }
  bool operator==(const Layout&) const = default;
};

// How tokens choose experts.
struct Routing {
  bool balanced = true;
  double zipf = 0;  // exponent: the k-th expert gets a share of 1 / k^zipf
  // Which expert is the k-th, by layer and micro-batch; lengths of documents that are drawn.
  std::uint64_t seed = 0;
  bool operator==(const Routing&) const = default;
};

struct Overlap {
  bool tp = false, grad = false, param = false;
  bool operator==(const Overlap&) const = default;
};

enum class Recompute : std::uint8_t { kNone, kSelective, kFull };
REPRISE_NAMES(Recompute, "none", "selective", "full");

// Parts of a layer that are computed again, by Megatron-LM's names (--recompute-modules): attention
// between its projections; a feed-forward block; a router with experts and shared ones; these.
inline constexpr std::string_view kCoreAttention = "core_attn", kDenseBlock = "mlp",
                                  kExpertBlock = "moe", kSharedExperts = "shared_experts";
inline constexpr std::string_view kRecomputeModules[] = {kCoreAttention, kDenseBlock, kExpertBlock,
                                                         kSharedExperts};

// Of a job that is predicted by the machine's numbers alone.
inline constexpr char kNoStack[] = "none";

struct Workload {
  std::string name;    // of the set
  std::string source;  // of a preset's numbers
  ModelShape model;
  Layout layout;
  std::int64_t global_batch = 0, micro_batch = 0;  // sequences, images or samples
  // Tokens of the documents that are packed in each sequence, in order; a token sees those of its
  // own document. Empty: a sequence is one.
  std::vector<std::int64_t> documents;
  // Their mean length, from which they are drawn (CompleteWorkload); 0: they are given, or none.
  std::int64_t document_length = 0;
  std::string schedule = "1f1b";    // predict/workload/schedule.cc
  std::int64_t virtual_stages = 1;  // of each rank: interleaved, or in a V
  // Recipe for products in 8 bits, in all layers but routers and the head
  // (predict/workload/ops/scaling.cc).
  std::string fp8 = "none";
  // Matrices of such products are stored in 8 bits, and the distributed optimizer gathers them so
  // (Megatron-LM's --fp8-param-gather).
  bool fp8_param_gather = false;
  std::optional<Lora> lora;  // none: all parameters are trained
  Recompute recompute = Recompute::kNone;
  // Selective: parts of each layer (kRecomputeModules), in this order; empty: core_attn.
  std::vector<std::string> recompute_modules;
  // Full: of the first so many layers of each chunk of a stage; 0: of all.
  std::int64_t recompute_layers = 0;
  Overlap overlap;
  Routing routing;
  std::string optimizer = "adam";   // adam, adamw, sgd
  bool separate_optimizer = false;  // one call an operator and parameter, as PyTorch's for-loop
  double clip = 1.0;                // of the gradient's norm; 0: neither norm nor clipping
  DType gradient_dtype = DType::kUnknown;  // of sums and transfers; unknown: float32
  std::int64_t bucket_bytes = 0;           // of gradients in one transfer; 0: by size of the job
  // The host waits for its device after each pass and each receive, as Megatron-LM's timers and its
  // transfers between stages make it.
  bool synchronize = false;
  std::string device = "cuda";  // cpu: operators compute on the host thread
  std::string stack;            // docs/stacks.md: a name or file, or kNoStack; empty: StackOf's
  std::int64_t steps = 1;
  // Options that neither the description nor the command line gives: their values are assumed.
  std::set<std::string> assumed;
  std::int64_t longest_sequence = 0;  // that the model takes; 0: the description does not say
  // Leaves out embedding, head, loss and optimizer: what schedules are examined with.
  bool layers_only = false;

  // Micro-batches that each pipeline takes a step.
  [[nodiscard]] std::int64_t micro_batches() const {
    return global_batch / (layout.dp * micro_batch);
  }
  [[nodiscard]] DType GradientType() const {
    return gradient_dtype == DType::kUnknown ? DType::kFloat32 : gradient_dtype;
  }
  // Whether selective recomputation is of this part of a layer.
  [[nodiscard]] bool Recomputes(std::string_view module) const;
  // Parameters in 16 bits, with sums, masters and states in 32.
  [[nodiscard]] bool MixedPrecision() const { return SizeOf(model.dtype) < 4; }
  // Whether one stage has the model's begin and end.
  [[nodiscard]] bool EndsOnOneStage() const;
  // Whether a stage sends both hidden states and gradients to one other stage.
  [[nodiscard]] bool DirectionsMeet() const;
  // Layers of each chunk of a stage, by its number in the model (NumberOfChunk): as many as pp *
  // virtual_stages.
  [[nodiscard]] std::vector<std::int64_t> LayersOfChunks() const;
  bool operator==(const Workload&) const = default;
};

// The software stack that the job names, else the usual one of its kind: none on processors;
// deepspeed without fused attention; torch-eager with FSDP, or where ranks share data alone, also
// with divided gradients; else megatron-te.
[[nodiscard]] std::string StackOf(const Workload& workload);

// By which published steps are sorted: language models are "dense" or of "experts"; "images",
// "recommendation".
[[nodiscard]] std::string KindOfModel(const ModelShape& model);

}  // namespace reprise
