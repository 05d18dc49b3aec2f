#include "cli/replay/library_options.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/program/environment.h"
#include "core/text.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTorch = "torch";

// Found without an import of torch, which takes seconds.
constexpr const char* kWhereTorchLies =
    "import importlib.util as u; s = u.find_spec(\"torch\"); print(s.origin if s else \"\")";

std::string ActivePython() {
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = Environment(name); !prefix.empty()) {
      const fs::path python = fs::path(prefix) / "bin" / "python3";
      std::error_code error;
      if (fs::exists(python, error)) {
        return python.string();
      }
    }
  }
  return "python3";
}

// The first line that a command prints; empty where it fails.
std::string FirstLineOf(const std::string& command) {
  const auto close = [](std::FILE* pipe) { static_cast<void>(pclose(pipe)); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(popen(command.c_str(), "r"), close);
  std::string text;
  std::array<char, 512> part{};
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) {
    text += part.data();
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

Status FindTorch(BackendSettings& settings) {
  if (settings.Text(kTorch) != "auto") {
    return {};
  }
  const std::string python = ActivePython();
  const auto quoted = [](std::string_view text) { return SingleQuoted(text, "'\\''"); };
  const std::string origin =
      FirstLineOf(fmt::format("{} -c {} 2>/dev/null", quoted(python), quoted(kWhereTorchLies)));
  constexpr const char* kHowToGoOn =
      "activate the environment that has it, or name the library: --torch "
      "…/site-packages/torch/lib/libtorch_cpu.so";
  if (origin.empty()) {
    return UsageError(fmt::format("--torch auto: {} has no PyTorch; {}", python, kHowToGoOn));
  }
  const fs::path library = fs::path(origin).parent_path() / "lib" / "libtorch_cpu.so";
  std::error_code error;
  if (!fs::exists(library, error)) {
    return UsageError(fmt::format("--torch auto: {} has PyTorch in {}, but there is no {}; {}",
                                  python, fs::path(origin).parent_path().string(), library.string(),
                                  kHowToGoOn));
  }
  settings.Set(kTorch, library.string());
  return {};
}

void LookForTorch(BackendSettings& settings) {
  if (!settings.Has(kTorch)) {
    BackendSettings with_torch = settings;
    with_torch.Set(kTorch, "auto");
    if (FindTorch(with_torch)) {
      settings = std::move(with_torch);
    }
  }
}

}  // namespace reprise
