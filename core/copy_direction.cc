#include "core/copy_direction.h"

namespace reprise {

CopyDirection CopyDirectionOf(std::string_view name) {
  const auto has = [name](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  if (has("emset")) {
    return CopyDirection::kFill;
  }
  if (has("HtoD") || has("HostToDevice")) {
    return CopyDirection::kToDevice;
  }
  return has("DtoH") || has("DeviceToHost") ? CopyDirection::kToHost : CopyDirection::kWithin;
}

}  // namespace reprise
