#include "converters/pytorch/files/kineto_text.h"

#include <utility>

#include "converters/other_forms.h"
#include "converters/pytorch/nsight/nsight_tables.h"
#include "converters/pytorch/nsight/nsight_text.h"
#include "converters/pytorch/perfetto/packets.h"
#include "converters/pytorch/perfetto/perfetto_text.h"
#include "converters/pytorch/rocprof/rocprof_text.h"
#include "converters/pytorch/xla/xla_text.h"

namespace reprise::pytorch {

Result<std::unique_ptr<TextSource>> OpenKinetoText(const std::string& path, std::int64_t process) {
  if (IsNsightExport(path)) {
    return OpenNsightText(path, process);
  }
  if (IsRocprofFile(path)) {
    return OpenRocprofText(path, process);
  }
  if (IsXlaProfile(path)) {
    return OpenXlaText(path, process);
  }
  REPRISE_TRY(CheckForm(path));
  constexpr std::size_t kHeadBytes = 4096;
  const bool packets = SniffPerfetto(ReadHead(path, kHeadBytes)).has_value();
  REPRISE_ASSIGN(std::unique_ptr<TextSource> text, TextSource::Open(path));
  return packets ? PerfettoAsJson(std::move(text)) : std::move(text);
}

}  // namespace reprise::pytorch
