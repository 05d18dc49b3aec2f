// --provenance of the commands that write runs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "replayer/plan/run_request.h"

namespace reprise {

inline void AddProvenanceFlag(CLI::App& app, RunRequest& request) {
  app.add_option_function<std::string>(
         "--provenance",
         [&request](const std::string& text) { request.provenance = ParseName<Provenance>(text); },
         "full: the run keeps the command line, paths, hosts and times of day; none: it leaves "
         "them out (default: none for an anonymized set, else full)")
      ->check(CLI::IsMember({"full", "none"}));
}

}  // namespace reprise
