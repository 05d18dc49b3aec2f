// A model as Hugging Face's transformers describe it (config.json).
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "predict/workload/description.h"
#include "predict/workload/job/json_fields.h"

namespace reprise {

// Whether it is one: a description of Reprise's own has no "model_type".
[[nodiscard]] bool IsHuggingFaceConfig(const WorkloadJson& json);

// Sets the model. The sequence is the longest that the model takes. Bad input: an architecture that
// is not known, with those that are; a field that is missing or of another type; a feature of the
// model that the generator has not.
[[nodiscard]] Status ReadHuggingFaceConfig(const WorkloadJson& json, ModelShape& model);

// The "model_type" of every architecture that is known.
[[nodiscard]] std::vector<std::string> HuggingFaceModelTypes();

}  // namespace reprise
