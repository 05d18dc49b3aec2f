// Any bytes as an .et file: an error or nodes, never a crash; and what was read can be written and
// read again unchanged.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "et_schema/graph.h"
#include "et_schema/io.h"
#include "et_schema/trace_set.h"

namespace reprise {
namespace {

std::string ScratchPath() {
  std::string path = "/dev/shm/et_reader_fuzz." + std::to_string(::getpid());
  return path;
}

void RequireSameAgain(const std::string& path, const Node& node) {
  Node written = node;
  auto writer = EtWriter::Create(path, {});
  if (!writer || !(*writer)->Write(written) || !(*writer)->Close()) {
    std::abort();
  }
  auto reader = EtReader::Open(path);
  Node again;
  if (!reader || !(*reader)->Next(again).value_or(false)) {
    std::abort();
  }
  // NaN is the one value that differs from itself.
  if (node == node && !(again == node)) {
    std::abort();
  }
}

void ReadEverything(const std::string& path) {
  int left = 4;  // writing is slow
  if (const auto reader = EtReader::Open(path)) {
    Node node;
    while ((*reader)->Next(node).value_or(false)) {
      if (left-- > 0) {
        RequireSameAgain(path + ".again", node);
      }
    }
    static_cast<void>((*reader)->diagnostics().Snapshot());
  }
  if (const auto graph = Graph::Load(path)) {
    for (Graph::Index i = 0; i < graph->size(); ++i) {
      if (!graph->Decode(i)) {
        std::abort();
      }
    }
  }
  static_cast<void>(ValidateFile(path));
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = reprise::ScratchPath();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  reprise::ReadEverything(path);
  return 0;
}
