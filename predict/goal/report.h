// What became of a set in its GOAL schedule.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace reprise {

struct GoalReport {
  std::uint64_t ranks = 0, nodes = 0;
  std::uint64_t calcs = 0, messages = 0, edges = 0;  // a message: its send and its receive
  std::uint64_t message_bytes = 0;
  std::map<std::string, std::uint64_t> expanded;  // "all_reduce by ring" → how many
  // Transfers that stay calculations of their recorded time, by reason.
  std::map<std::string, std::uint64_t> timed;
  std::uint64_t padded = 0;           // messages without data, written with one byte
  std::uint64_t negative_delays = 0;  // written as none
  std::uint64_t crowded = 0;      // pieces of work that share a cpu, since a rank has only so many
  std::uint64_t cpus = 0;         // of the node with most
  std::int64_t simulated_ns = 0;  // by Reprise's own simulation; of several jobs the longest
};

}  // namespace reprise
