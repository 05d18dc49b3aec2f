// Another size or type of a transfer.
#pragma once

#include <cstdint>

#include "et_schema/node.h"

namespace reprise {

// Elements and bytes times the factor, rounded to whole elements of each member's block, at least
// one where there was one. All members of a transfer come to the same. `members`: of its group.
void ScaleTransfer(double factor, std::int64_t members, CommSpec& spec);
// What this rank contributes becomes so many bytes, as far as whole elements allow.
void ResizeTransfer(std::int64_t bytes, std::int64_t members, CommSpec& spec);
// As many elements of another type.
void RetypeTransfer(DType dtype, CommSpec& spec);

}  // namespace reprise
