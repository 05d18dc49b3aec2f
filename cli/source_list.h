// Telemetry sources as this machine has them, for `reprise list sources`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "telemetry/source.h"

namespace reprise {

// One object a source: name, help, here ("available", or why not), devices [{device, name, uuid,
// pci_bus_id}], metrics [{name, unit, kind, devices, modelled, states, help}].
[[nodiscard]] nlohmann::ordered_json ListSources(const SourceOptions& options);
void PrintSources(const nlohmann::ordered_json& rows);

}  // namespace reprise
