// Any bytes as packets of Perfetto: an error, or JSON that parses and of which each begin has at
// most one end of its slice.
#include <simdjson.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "converters/pytorch/perfetto/perfetto_text.h"
#include "tests/converters/text_in_memory.h"

namespace reprise::pytorch {
namespace {

void Try(std::string_view bytes) {
  const auto text = PerfettoAsJson(std::make_unique<TextInMemory>("fuzz", bytes));
  std::string json;
  for (;;) {
    char piece[4096];
    const auto got = text->Read(piece, sizeof(piece));
    if (!got) {
      return;
    }
    if (*got == 0) {
      break;
    }
    json.append(piece, *got);
  }
  simdjson::dom::parser parser;
  simdjson::dom::array events;
  if (parser.parse(json)["traceEvents"].get(events) != simdjson::SUCCESS) {
    std::abort();
  }
  std::set<std::int64_t> ended;
  for (const simdjson::dom::element event : events) {
    std::int64_t slice = 0;
    if (event["ph"].get_string().value() == "E" && event["slice"].get(slice) == simdjson::SUCCESS &&
        !ended.insert(slice).second) {
      std::abort();
    }
  }
  Diagnostics diagnostics;
  (void)ReadKinetoText("fuzz", json, diagnostics);
}

}  // namespace
}  // namespace reprise::pytorch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprise::pytorch::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
