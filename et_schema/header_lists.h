// TraceMetadata's lists as files hold them: a list per member, parallel to each other. Only
// et_schema sees this.
#pragma once

#include <string>
#include <vector>

#include "et_schema/node.h"

namespace reprise {

struct HeaderLists {
#define HEADER_LIST(name, type, present) field::type::Value name;
#include "et_schema/fields.def"
};
[[nodiscard]] HeaderLists ListsOf(const TraceMetadata& metadata);
// The inverse. Of parallel lists the shortest decides; what does not fit together is left out.
void SetLists(const HeaderLists& lists, TraceMetadata& metadata);

}  // namespace reprise
