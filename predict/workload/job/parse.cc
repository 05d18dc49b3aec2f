#include "predict/workload/job/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/input_file.h"
#include "core/nearest.h"
#include "core/parse_json.h"
#include "core/shown_text.h"
#include "core/split_mix.h"
#include "predict/workload/families/family.h"
#include "predict/workload/job/huggingface_config.h"
#include "predict/workload/job/json_fields.h"
#include "predict/workload/registry.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxWorkloadBytes = std::uint64_t{16} << 20;

// What a description that names no family must mean.
std::string FamilyOf(const WorkloadJson& model) {
  if (!model.is_object()) {
    return "gpt";
  }
  const auto positive = [&model](const char* name) {
    const auto at = model.find(name);
    return at != model.end() && at->is_number() && at->get<double>() > 0;
  };
  if (model.contains("family") && model["family"].is_string()) {
    return model["family"].get<std::string>();
  }
  return model.contains("tables")                                                  ? "dlrm"
         : model.contains("patch")                                                 ? "vit"
         : positive("experts")                                                     ? "mixtral"
         : model.contains("gated_ffn") && model["gated_ffn"] == WorkloadJson(true) ? "llama"
                                                                                   : "gpt";
}

Status ReadModel(const WorkloadJson& json, Workload& w) {
  ModelShape& m = w.model;
  m.family = FamilyOf(json);
  REPRISE_TRY(CheckName(BuiltinFamilies(), "model family", m.family));
  FindFamily(m.family)->set_defaults(m);
  double capacity = 0;
  const WorkloadField capacity_field = Real("capacity_factor", capacity, 1e-6, 1e6);
  std::vector<WorkloadField> fields = {
      OneOf("family", m.family, {m.family}),
      Flag("gated_ffn", m.gated_ffn),
      {"capacity_factor",
       [&](const WorkloadJson& value) -> Status {
         if (value.is_null()) {
           m.capacity_factor.reset();
           return {};
         }
         REPRISE_TRY(capacity_field.set(value));
         m.capacity_factor = capacity;
         return {};
       }},
      Flag("drop_tokens", m.drop_tokens),
      Text("dtype", [&w](const std::string& text) { return SetDType(text, w); }),
      Flag("rms_norm", m.rms_norm),
      Flag("bias", m.bias),
      Flag("qkv_bias", m.qkv_bias),
      Flag("out_bias", m.out_bias),
      Flag("ffn_bias", m.ffn_bias),
      OneOf("activation", m.activation, {"gelu", "silu", "relu2", "clamped_silu"}),
      Flag("tied_embeddings", m.tied_embeddings),
      Flag("rotary", m.rotary),
      Flag("alibi", m.alibi),
      Flag("embedding_norm", m.embedding_norm),
      Flag("qk_norm", m.qk_norm),
      Flag("sinks", m.sinks),
      Flag("shared_gate", m.shared_gate),
      Flag("router_bias", m.router_bias),
      OneOf("router_scores", m.router_scores, {"softmax", "sigmoid"}),
      Flag("normalized_gates", m.normalized_gates),
      Flag("grouped_experts", m.grouped_experts),
      Flag("causal", m.causal),
      Flag("fused_qkv", m.fused_qkv),
      Flag("fused_attention", m.fused_attention),
      Flag("batch_first", m.batch_first),
      Real("dropout", m.dropout, 0, 0.99),
      OneOf("count_exchange", m.count_exchange, {"all_gather", "all_to_all", "none"}),
      Numbers("tables", m.tables),
      Numbers("bottom_mlp", m.bottom_mlp),
      Numbers("top_mlp", m.top_mlp)};
  for (const ModelSize& size : kModelSizes) {
    fields.push_back(Number(size.name, m.*size.of));
  }
  return ReadFields(json, "\"model\"", fields);
}

Status ReadLayout(const WorkloadJson& json, Layout& l) {
  std::int64_t zero = 0;
  const WorkloadField zero_field = Number("zero", zero);
  if (json.is_object() && json.contains("zero") &&
      (json.contains("fsdp") || json.contains("distributed_optimizer"))) {
    return BadInput(
        "\"zero\" says what \"fsdp\" and \"distributed_optimizer\" say: give one of them");
  }
  return ReadFields(
      json, "\"layout\"",
      {Number("tp", l.tp),
       Number("pp", l.pp),
       Number("dp", l.dp),
       Number("ep", l.ep),
       Number("etp", l.etp),
       Number("cp", l.cp),
       Text("cp_comm_type", [&l](const std::string& text) { return SetContextComm(text, l); }),
       Flag("fsdp", l.fsdp),
       Number("shards", l.shards),
       Flag("sequence_parallel", l.sequence_parallel),
       Flag("distributed_optimizer", l.distributed_optimizer),
       {"zero",
        [&](const WorkloadJson& value) -> Status {
          REPRISE_TRY(zero_field.set(value));
          return SetZero(zero, l);
        }},
       Flag("scatter_gather", l.scatter_gather),
       Flag("vocab_parallel", l.vocab_parallel),
       Flag("reshard_root", l.reshard_root),
       Numbers("layers_per_stage", l.layers_per_stage)});
}

Result<std::vector<std::string>> ReadNames(std::string_view field, std::string_view expected,
                                           const WorkloadJson& value) {
  std::vector<std::string> names;
  if (!value.is_array()) {
    return Expected(field, expected, value);
  }
  for (const WorkloadJson& name : value) {
    if (!name.is_string()) {
      return Expected(field, expected, value);
    }
    names.push_back(name.get<std::string>());
  }
  return names;
}

Status ReadLora(const WorkloadJson& json, Workload& w) {
  Lora lora;
  REPRISE_TRY(ReadFields(json, "\"lora\"",
                         {Number("rank", lora.rank),
                          {"targets",
                           [&lora](const WorkloadJson& value) -> Status {
                             REPRISE_ASSIGN(
                                 const std::vector<std::string> names,
                                 ReadNames("targets", R"(a list of "linear_qkv", "linear_proj", …)",
                                           value));
                             return SetLoraTargets(names, lora);
                           }},
                          Real("dropout", lora.dropout, 0, 0.99)}));
  w.lora = std::move(lora);
  return {};
}

Status ReadTop(const WorkloadJson& json, Workload& w) {
  std::int64_t seed = 0;
  const WorkloadField seed_field = Number("seed", seed);
  return ReadFields(
      json, "the description",
      {Text("name",
            [&w](const std::string& text) -> Status {
              w.name = text;
              return {};
            }),
       {"model", [&w](const WorkloadJson& value) { return ReadModel(value, w); }},
       {"layout", [&w](const WorkloadJson& value) { return ReadLayout(value, w.layout); }},
       {"batch",
        [&w](const WorkloadJson& value) -> Status {
          if (value.is_object() && value.contains("documents") &&
              value.contains("document_length")) {
            return BadInput(
                "\"documents\" and \"document_length\" both say what a sequence holds: give one of "
                "them");
          }
          return ReadFields(
              value, "\"batch\"",
              {Number("global", w.global_batch), Number("micro", w.micro_batch),
               Numbers("documents", w.documents), Number("document_length", w.document_length)});
        }},
       {"lora", [&w](const WorkloadJson& value) { return ReadLora(value, w); }},
       Text("schedule", [&w](const std::string& text) { return SetSchedule(text, w); }),
       Number("recompute_layers", w.recompute_layers),
       Text("fp8", [&w](const std::string& text) { return SetFp8(text, w); }),
       Flag("fp8_param_gather", w.fp8_param_gather),
       Text("recompute", [&w](const std::string& text) { return SetRecompute(text, w); }),
       {"recompute_modules",
        [&w](const WorkloadJson& value) -> Status {
          REPRISE_ASSIGN(
              const std::vector<std::string> names,
              ReadNames("recompute_modules", R"(a list of "core_attn", "mlp", …)", value));
          return SetRecomputeModules(names, w);
        }},
       {"overlap",
        [&w](const WorkloadJson& value) -> Status {
          REPRISE_ASSIGN(const std::vector<std::string> names,
                         ReadNames("overlap", R"(a list of "tp", "grad", "param")", value));
          return SetOverlap(names, w);
        }},
       OneOf("optimizer", w.optimizer, {"adam", "adamw", "sgd"}),
       Flag("separate_optimizer", w.separate_optimizer),
       Flag("synchronize", w.synchronize),
       Real("clip", w.clip, 0, 1e9),
       Text("gradient_dtype",
            [&w](const std::string& text) -> Status {
              w.gradient_dtype = ParseDType(text);
              return IsFloating(w.gradient_dtype)
                         ? Status{}
                         : BadInput(fmt::format("\"gradient_dtype\" is \"{}\"; expected float32, "
                                                "float16 or bfloat16",
                                                text));
            }),
       Number("bucket_bytes", w.bucket_bytes),
       Text("routing", [&w](const std::string& text) { return SetRouting(text, w); }),
       {"seed",
        [&](const WorkloadJson& value) -> Status {
          REPRISE_TRY(seed_field.set(value));
          w.routing.seed = static_cast<std::uint64_t>(seed);
          return {};
        }},
       OneOf("device", w.device, {"cuda", "cpu"}),
       Text("stack",
            [&w](const std::string& text) -> Status {
              w.stack = text;
              return {};
            }),
       Number("steps", w.steps),
       Flag("layers_only", w.layers_only)});
}

// A description that has the model alone: the rest is assumed, and that is said (AssumptionNotes).
Status ReadModelAlone(const WorkloadJson& json, Workload& w) {
  REPRISE_TRY(ReadHuggingFaceConfig(json, w.model));
  constexpr std::int64_t kUsualSequence = 4096;
  w.longest_sequence = w.model.sequence;
  w.model.sequence =
      w.longest_sequence == 0 ? kUsualSequence : std::min(w.longest_sequence, kUsualSequence);
  w.assumed = {"sequence", "global-batch", "micro-batch"};
  w.micro_batch = 1;
  return {};
}

}  // namespace

const std::vector<Preset>& BuiltinPresets() {
  static const std::vector<Preset> presets = {
#define PRESET(name, json, source) {name, json, source},
#include "predict/workload/presets.def"
#undef PRESET
  };
  return presets;
}

namespace {

// Lengths of documents, independent of each other and exponentially distributed, one after the
// other until the sequence is full. Its end cuts the last one.
std::vector<std::int64_t> DrawDocuments(const Workload& w) {
  std::vector<std::int64_t> documents;
  std::uint64_t counter = w.routing.seed * 0x100000001b3;
  for (std::int64_t left = w.model.sequence; left > 0; counter += kSplitMixStep) {
    constexpr double kUnit = 0x1p-53;
    const double draw = static_cast<double>(SplitMix(counter) >> 11) * kUnit;
    const double length = std::ceil(-static_cast<double>(w.document_length) * std::log1p(-draw));
    const double most = static_cast<double>(left);
    documents.push_back(static_cast<std::int64_t>(std::clamp(length, 1.0, most)));
    left -= documents.back();
  }
  return documents;
}

}  // namespace

void CompleteWorkload(Workload& w) {
  if (w.document_length > 0) {
    w.documents = DrawDocuments(w);
  }
  if (const ModelFamily* family = FindFamily(w.model.family); family != nullptr) {
    family->complete(w);
  }
}

Result<Workload> ParseWorkload(std::string_view text, const std::string& origin) {
  Workload w;
  try {
    const WorkloadJson json = ParseJson<WorkloadJson>(text);
    if (const auto format = json.find("format"); format != json.end() && json.contains("device")) {
      return BadInput(
          fmt::format("{}: this is a machine file; expected the description of a job "
                      "(docs/guides/generate.md); give the machine with --machine",
                      origin));
    }
    const Status read = IsHuggingFaceConfig(json) ? ReadModelAlone(json, w) : ReadTop(json, w);
    if (!read) {
      return BadInput(fmt::format("{}: {}", origin, read.error().message));
    }
  } catch (const nlohmann::json::exception& error) {
    return BadInput(fmt::format(
        "{}: no JSON ({}); expected the description of a job (docs/guides/generate.md); `reprise "
        "list models` shows presets",
        origin, JsonProblem(error.what())));
  }
  return w;
}

Result<Workload> ReadWorkload(const std::string& what) {
  for (const Preset& preset : BuiltinPresets()) {
    if (preset.name == what) {
      REPRISE_ASSIGN(Workload w, ParseWorkload(preset.json, "preset " + what));
      w.name = what;
      w.source = preset.source;
      return w;
    }
  }
  std::error_code code;
  if (!what.ends_with(".json") && !fs::exists(what, code)) {
    std::vector<std::string> names;
    for (const Preset& preset : BuiltinPresets()) {
      names.emplace_back(preset.name);
    }
    return BadInput(fmt::format(
        "no preset and no file is called {}{} (`reprise list models` shows the presets)", what,
        NameHint(what, names)));
  }
  if (!fs::exists(what, code)) {
    return BadInput(fmt::format(
        "{}: no such file; expected the description of a job (docs/guides/generate.md), or a "
        "preset (`reprise list models`)",
        ShownText(what)));
  }
  REPRISE_ASSIGN(const std::string text, ReadJsonText(what, kMaxWorkloadBytes));
  REPRISE_ASSIGN(Workload w, ParseWorkload(text, what));
  if (w.name.empty()) {
    w.name = fs::path(what).stem().string();
  }
  return w;
}

}  // namespace reprise
