#include "core/processor_name.h"

#include <fstream>

namespace reprise {

// "model name	: Intel(R) Xeon(R) Processor @ 2.50GHz"
std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      const auto colon = line.find(": ");
      return colon == std::string::npos ? line : line.substr(colon + 2);
    }
  }
  return "CPU";
}

}  // namespace reprise
