#include "predict/workload/job/huggingface_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/nearest.h"
#include "core/shown_text.h"
#include "predict/workload/families/family.h"

namespace reprise {
namespace {

// Reads fields, and keeps the first error.
class Config {
 public:
  explicit Config(const WorkloadJson& json) : json_(json) {}

  [[nodiscard]] const Status& status() const { return status_; }
  void Refuse(const std::string& why) {
    if (status_) {
      status_ = BadInput(why);
    }
  }
  // There, and not null.
  [[nodiscard]] const WorkloadJson* Find(std::string_view name) const {
    const auto at = json_.find(name);
    return at == json_.end() || at->is_null() ? nullptr : &*at;
  }
  // The first of `names` that is there.
  [[nodiscard]] std::int64_t Size(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const auto size = SizeIfThere(name)) {
        return *size;
      }
    }
    Refuse(fmt::format("\"{}\" is missing: the model's shape needs it", *names.begin()));
    return 0;
  }
  [[nodiscard]] std::int64_t SizeOr(const char* name, std::int64_t otherwise) {
    return SizeIfThere(name).value_or(otherwise);
  }
  // transformers' own default where the file says nothing.
  [[nodiscard]] bool FlagOr(const char* name, bool otherwise) {
    bool flag = otherwise;
    Take(name, Flag(name, flag));
    return flag;
  }
  [[nodiscard]] double RealOr(const char* name, double otherwise) {
    double real = otherwise;
    Take(name, Real(name, real, 0, 1e9));
    return real;
  }
  [[nodiscard]] std::string TextOr(const char* name, const std::string& otherwise) {
    std::string text = otherwise;
    Take(name, Text(name, [&text](const std::string& given) -> Status {
           text = given;
           return {};
         }));
    return text;
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> SizeIfThere(const char* name) {
    std::int64_t size = 0;
    if (Find(name) == nullptr) {
      return std::nullopt;
    }
    Take(name, Number(name, size));
    return size;
  }
  void Take(const char* name, const WorkloadField& field) {
    const WorkloadJson* const value = Find(name);
    if (value == nullptr) {
      return;
    }
    if (Status set = field.set(*value); !set && status_) {
      status_ = std::move(set);
    }
  }

  const WorkloadJson& json_;
  Status status_;
};

// Sizes and flags that most architectures have.
void ReadCommon(Config& c, ModelShape& m) {
  m.layers = c.Size({"num_hidden_layers", "n_layer"});
  m.hidden = c.Size({"hidden_size", "n_embd", "n_embed"});
  m.heads = c.Size({"num_attention_heads", "n_head"});
  m.kv_heads = c.SizeOr("num_key_value_heads", m.heads);
  m.head_size = c.SizeOr("head_dim", 0);
  m.vocab = c.Size({"vocab_size"});
  m.tied_embeddings = c.FlagOr("tie_word_embeddings", m.tied_embeddings);
}

void ReadActivation(Config& c, ModelShape& m) {
  const std::string text = c.TextOr("hidden_act", m.gated_ffn ? "silu" : "gelu");
  if (text == "silu" || text == "swish") {
    m.activation = "silu";
  } else if (text.starts_with("gelu")) {
    m.activation = "gelu";
  } else if (text == "relu2") {
    m.activation = "relu2";
  } else {
    c.Refuse(
        fmt::format("\"hidden_act\" is \"{}\"; known are silu, gelu and relu2", ShownText(text)));
  }
}

// Of the embedding, attention and both branches alike. `usual`: transformers' own default.
void ReadDropout(Config& c, ModelShape& m, std::initializer_list<const char*> names, double usual) {
  m.dropout = c.RealOr(*names.begin(), usual);
  for (const char* name : names) {
    if (c.RealOr(name, usual) != m.dropout) {
      c.Refuse(
          fmt::format("\"{}\" is not \"{}\": one dropout for all is known", name, *names.begin()));
    }
  }
}

// One window for all layers, as Mistral has it.
void ReadWindow(Config& c, ModelShape& m) { m.window = c.SizeOr("sliding_window", 0); }

// Since version 5, transformers write it among the other parameters of rotary positions.
double RotaryPart(Config& c) {
  const WorkloadJson* const parameters = c.Find("rope_parameters");
  if (parameters == nullptr || !parameters->is_object() ||
      !parameters->contains("partial_rotary_factor")) {
    return c.RealOr("partial_rotary_factor", 1);
  }
  Config inner(*parameters);
  const double part = inner.RealOr("partial_rotary_factor", 1);
  if (!inner.status()) {
    c.Refuse("\"rope_parameters\": " + inner.status().error().message);
  }
  return part;
}

void ReadLlama(Config& c, ModelShape& m) {
  ReadCommon(c, m);
  ReadActivation(c, m);
  m.ffn = c.Size({"intermediate_size"});
  const bool bias = c.FlagOr("attention_bias", false);
  m.qkv_bias = bias;
  m.out_bias = bias;
  m.ffn_bias = c.FlagOr("mlp_bias", false);
  if (c.RealOr("attention_dropout", 0) != 0) {
    c.Refuse("\"attention_dropout\" is above 0: dropout of attention alone is not known");
  }
  m.rotary_size = 0;
  if (const double part = RotaryPart(c); part < 1) {
    const std::int64_t size =
        m.head_size > 0 ? m.head_size : m.hidden / std::max<std::int64_t>(1, m.heads);
    m.rotary_size = static_cast<std::int64_t>(std::floor(static_cast<double>(size) * part));
  }
}

void ReadMistral(Config& c, ModelShape& m) {
  ReadLlama(c, m);
  ReadWindow(c, m);
}

void ReadMixtral(Config& c, ModelShape& m) {
  ReadMistral(c, m);
  m.experts = c.Size({"num_local_experts"});
  m.top_k = c.Size({"num_experts_per_tok"});
  m.normalized_gates = true;
}

void ReadQwen(Config& c, ModelShape& m) {
  ReadLlama(c, m);
  if (c.FlagOr("use_sliding_window", false)) {
    c.Refuse(
        "\"use_sliding_window\" is true: windows of some layers only are not known of this "
        "architecture");
  }
}

void ReadQwen2(Config& c, ModelShape& m) {
  ReadQwen(c, m);
  m.qkv_bias = true;  // transformers/models/qwen2: queries, keys and values, whatever the file says
  m.out_bias = false;
}

// Layers without experts are the first ones, or all but each n-th.
void ReadSparseLayers(Config& c, ModelShape& m) {
  m.experts_every = c.SizeOr("decoder_sparse_step", 1);
  const WorkloadJson* const dense = c.Find("mlp_only_layers");
  if (dense == nullptr) {
    return;
  }
  for (const WorkloadJson& layer : *dense) {
    if (layer != WorkloadJson(m.dense_layers)) {
      c.Refuse("\"mlp_only_layers\" has layers that are not the first ones");
      return;
    }
    ++m.dense_layers;
  }
}

void ReadQwenExperts(Config& c, ModelShape& m) {
  m.dense_ffn = m.ffn;
  m.ffn = c.Size({"moe_intermediate_size"});
  m.experts = c.Size({"num_experts", "num_local_experts"});  // the latter since version 5
  m.top_k = c.Size({"num_experts_per_tok"});
  m.normalized_gates = c.FlagOr("norm_topk_prob", false);
  ReadSparseLayers(c, m);
}

void ReadQwen2Moe(Config& c, ModelShape& m) {
  ReadQwen2(c, m);
  ReadQwenExperts(c, m);
  m.shared_ffn = c.Size({"shared_expert_intermediate_size"});
  m.shared_gate = m.grouped_experts = true;
}

void ReadQwen3Moe(Config& c, ModelShape& m) {
  ReadQwen(c, m);
  ReadQwenExperts(c, m);
}

// Experts as DeepSeek names them.
void ReadRoutedExperts(Config& c, ModelShape& m) {
  m.dense_ffn = m.ffn;
  m.ffn = c.Size({"moe_intermediate_size"});
  m.experts = c.Size({"n_routed_experts"});
  m.top_k = c.Size({"num_experts_per_tok"});
  m.shared_ffn = c.SizeOr("n_shared_experts", 0) * m.ffn;
  m.dense_layers = c.SizeOr("first_k_dense_replace", 0);
  m.experts_every = c.SizeOr("moe_layer_freq", 1);
  m.normalized_gates = c.FlagOr("norm_topk_prob", false);
  if (const std::int64_t groups = c.SizeOr("n_group", 1); groups > 1) {
    m.expert_groups = groups;
    m.groups_per_token = c.Size({"topk_group"});
  }
}

void ReadDeepseek(Config& c, ModelShape& m) {
  ReadLlama(c, m);
  ReadRoutedExperts(c, m);
  m.router_scores = c.TextOr("scoring_func", m.router_scores);
  m.kv_heads = m.heads;  // each has its own, made from the few numbers
  m.kv_rank = c.Size({"kv_lora_rank"});
  m.q_rank = c.SizeOr("q_lora_rank", 0);
  m.rotary_size = c.Size({"qk_rope_head_dim"});
  m.head_size = c.Size({"qk_nope_head_dim"}) + m.rotary_size;
  m.value_size = c.Size({"v_head_dim"});
  m.mtp_layers = c.SizeOr("num_nextn_predict_layers", 0);
}

void ReadDeepseekV2(Config& c, ModelShape& m) {
  m.router_scores = "softmax";
  ReadDeepseek(c, m);
}

void ReadGlmMoe(Config& c, ModelShape& m) {
  ReadLlama(c, m);
  ReadRoutedExperts(c, m);
  m.out_bias = false;  // transformers/models/glm4_moe: attention_bias is of queries, keys, values
  m.router_scores = "sigmoid";
  m.qk_norm = c.FlagOr("use_qk_norm", false);
  m.mtp_layers = c.SizeOr("num_nextn_predict_layers", 0);
}

void ReadGptOss(Config& c, ModelShape& m) {
  ReadLlama(c, m);
  ReadWindow(c, m);
  m.activation = "clamped_silu";
  m.ffn_bias = true;
  m.qkv_bias = c.FlagOr("attention_bias", true);
  m.out_bias = m.qkv_bias;
  m.experts = c.Size({"num_local_experts"});
  m.top_k = c.Size({"num_experts_per_tok", "experts_per_token"});
  m.full_attention_every = m.window > 0 ? 2 : 0;
  const WorkloadJson* const kinds = c.Find("layer_types");
  for (std::size_t i = 0; kinds != nullptr && i < kinds->size(); ++i) {
    if ((*kinds)[i] != WorkloadJson(i % 2 == 0 ? "sliding_attention" : "full_attention")) {
      c.Refuse("\"layer_types\": expected sliding_attention and full_attention by turns");
      return;
    }
  }
}

void ReadBloom(Config& c, ModelShape& m) {
  ReadCommon(c, m);
  ReadDropout(c, m, {"hidden_dropout", "attention_dropout"}, 0);
  m.ffn = 4 * m.hidden;
}

void ReadGpt2(Config& c, ModelShape& m) {
  ReadCommon(c, m);
  ReadDropout(c, m, {"resid_pdrop", "embd_pdrop", "attn_pdrop"}, 0.1);
  m.ffn = c.SizeOr("n_inner", 4 * m.hidden);
  m.sequence = m.positions = c.Size({"n_positions"});
}

struct Architecture {
  const char* model_type;
  const char* family;
  void (*read)(Config& config, ModelShape& model);
};
// By transformers' source, transformers/models/…/configuration_….py and modeling_….py.
constexpr Architecture kArchitectures[] = {
    {"llama", "llama", ReadLlama},
    {"mistral", "llama", ReadMistral},
    {"phi3", "llama", ReadMistral},
    {"mixtral", "mixtral", ReadMixtral},
    {"qwen2", "llama", ReadQwen2},
    {"qwen2_moe", "mixtral", ReadQwen2Moe},
    {"qwen3", "qwen3", ReadQwen},
    {"qwen3_moe", "qwen3", ReadQwen3Moe},
    {"deepseek_v2", "deepseek", ReadDeepseekV2},
    {"deepseek_v3", "deepseek", ReadDeepseek},
    {"kimi_k2", "deepseek", ReadDeepseek},
    {"glm4_moe", "deepseek", ReadGlmMoe},
    {"gpt_oss", "gpt-oss", ReadGptOss},
    {"nemotron", "nemotron", ReadLlama},
    {"bloom", "bloom", ReadBloom},
    {"gpt2", "gpt", ReadGpt2},
};

void ReadDType(Config& c, ModelShape& m) {
  const std::string text = c.TextOr("torch_dtype", c.TextOr("dtype", "bfloat16"));
  m.dtype = ParseDType(text);
  if (m.dtype != DType::kFloat32 && m.dtype != DType::kBFloat16 && m.dtype != DType::kFloat16) {
    c.Refuse(fmt::format("\"torch_dtype\" is \"{}\"; expected bfloat16, float16 or float32",
                         ShownText(text)));
  }
}

}  // namespace

bool IsHuggingFaceConfig(const WorkloadJson& json) {
  return json.is_object() && (json.contains("model_type") || json.contains("architectures"));
}

std::vector<std::string> HuggingFaceModelTypes() {
  std::vector<std::string> types;
  for (const Architecture& one : kArchitectures) {
    types.emplace_back(one.model_type);
  }
  return types;
}

Status ReadHuggingFaceConfig(const WorkloadJson& json, ModelShape& m) {
  Config config(json);
  const std::string type = config.TextOr("model_type", "");
  const auto* const known = std::ranges::find(
      kArchitectures, type, [](const Architecture& one) { return std::string(one.model_type); });
  if (known == std::end(kArchitectures)) {
    return BadInput(fmt::format(
        "\"model_type\" is \"{}\", an architecture that is not known{}; known are {}. Describe the "
        "model in Reprise's own fields instead (docs/guides/generate.md)",
        ShownText(type), DidYouMean(type, HuggingFaceModelTypes()),
        fmt::join(HuggingFaceModelTypes(), ", ")));
  }
  m.family = known->family;
  FindFamily(m.family)->set_defaults(m);
  known->read(config, m);
  ReadDType(config, m);
  if (m.sequence == 0) {
    m.sequence = config.SizeOr("max_position_embeddings", config.SizeOr("seq_length", 0));
  }
  if (m.sequence == 0 && !m.alibi) {
    config.Refuse("\"max_position_embeddings\" is missing: the longest sequence");
  }
  return config.status();
}

}  // namespace reprise
