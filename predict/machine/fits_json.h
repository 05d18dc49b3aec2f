// The member `fits` of a machine file: how well its numbers meet the tables that they were fitted
// to (docs/machine_format.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/result.h"
#include "predict/machine/machine.h"

namespace reprise {

// Of a whole file; none: empty. Bad input: an entry that lacks a member or has another one, an
// error that is no number from 0 on, a class and type that stand twice.
[[nodiscard]] Result<std::vector<FitErrors>> FitsOf(const nlohmann::ordered_json& file);

[[nodiscard]] nlohmann::ordered_json FitsJson(const std::vector<FitErrors>& fits);

}  // namespace reprise
