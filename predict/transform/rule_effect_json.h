// What rules did, as JSON.
#pragma once

#include "core/json_fields.h"
#include "predict/transform/graph_edit.h"

namespace reprise {

REPRISE_JSON_FIELDS(RuleEffect, rule, nodes, nodes_without_time, recorded_ns, changed_ns)

}  // namespace reprise
