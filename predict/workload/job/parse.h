// Descriptions as JSON, and the presets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "predict/workload/description.h"

namespace reprise {

struct Preset {
  std::string_view name, json, source;
};
[[nodiscard]] const std::vector<Preset>& BuiltinPresets();

// A preset by name, or the description in a file. Bad input: neither, a field of another type, a
// field that there is not (with the nearest). Fields that a description leaves out have the
// family's defaults. The result is not checked yet: options may change it (CheckWorkload).
[[nodiscard]] Result<Workload> ReadWorkload(const std::string& preset_or_path);
// `origin` begins messages.
[[nodiscard]] Result<Workload> ParseWorkload(std::string_view json, const std::string& origin);

// "1f1b", "interleaved:4".
[[nodiscard]] Status SetSchedule(const std::string& text, Workload& workload);
// "none", "selective", "full".
[[nodiscard]] Status SetRecompute(const std::string& text, Workload& workload);
// Names of kRecomputeModules.
[[nodiscard]] Status SetRecomputeModules(const std::vector<std::string>& names, Workload& workload);
// Names of "tp", "grad", "param", or "none".
[[nodiscard]] Status SetOverlap(const std::vector<std::string>& names, Workload& workload);
// "balanced", "zipf:1.2".
[[nodiscard]] Status SetRouting(const std::string& text, Workload& workload);
// "none", or a recipe.
[[nodiscard]] Status SetFp8(const std::string& text, Workload& workload);
// Names of kLoraTargets, first or second ones.
[[nodiscard]] Status SetLoraTargets(const std::vector<std::string>& names, Lora& lora);
// "p2p", "all_gather", "a2a".
[[nodiscard]] Status SetContextComm(const std::string& text, Layout& layout);
// 0 to 3: Layout::zero.
[[nodiscard]] Status SetZero(std::int64_t stage, Layout& layout);
[[nodiscard]] Status SetDType(const std::string& text, Workload& workload);
// Sizes that follow from others, once options have been applied.
void CompleteWorkload(Workload& workload);

}  // namespace reprise
