"""Outputs of benchmarks, made by hand after the documentation of their formats; no machine has printed these numbers."""

OSU_LATENCY = """
# OSU MPI Latency Test v5.6.2
# Size          Latency (us)
0                       1.05
1                       1.06
1024                    1.50
4096                    2.25
"""

#: As mpi4py's demo/osu_latency.py, osu_bcast.py and osu_bw.py print, in which the title of MB/s is that of times.
OSU_IN_PYTHON = """# MPI Latency Test
# Size [B]        Latency [us]
         0                1.05
      1024                1.50
# MPI Broadcast Latency Test
# Size [B]        Latency [us]
         8                1.75
# MPI Bandwidth Test
# Size [B]        Latency [us]
   1048576            12000.00
# MPI Bi-Directional Bandwidth Test
# Size [B]        Latency [us]
   1048576            11000.00
"""

OSU_FULL = """# OSU MPI Allreduce Latency Test v7.3
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       3.10              2.90              3.40        1000
1048576               810.00            790.50            905.25         100

# OSU MPI Barrier Latency Test v7.3
# Avg Latency(us)
             2.50

# OSU MPI Broadcast Latency Test v7.3
# Size       Avg Latency(us)
8                       1.75

# OSU MPI All-to-All Personalized Exchange Latency Test v7.3
# Size       Avg Latency(us)
1                      11.25
"""

OSU_BANDWIDTHS = """# OSU MPI Bandwidth Test v5.9
# Size      Bandwidth (MB/s)
1                       4.50
1048576             12000.00
# OSU MPI Bi-Directional Bandwidth Test v5.9
# Size      Bandwidth (MB/s)
1048576             23500.00
# OSU MPI Multiple Bandwidth / Message Rate Test v5.9
# [ pairs: 4 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                      20.00       20000000.00
1048576             12250.00          11682.51
"""

IMB = """#------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
#------------------------------------------------------------
# Minimum message length in bytes:   0

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 14 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.10         0.00
         4096         1000         2.20      1861.82

#-----------------------------------------------------------------------------
# Benchmarking Sendrecv
# #processes = 16
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
         1024          640         2.00         3.00         2.50       682.67

#----------------------------------------------------------------
# Benchmarking Allreduce
# #processes = 16
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         7.00         9.00         8.00

#---------------------------------------------------
# Benchmarking Barrier
# #processes = 16
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         4.00         5.00         4.50

# All processes entering MPI_Finalize
"""

NCCL = """# nThread 1 nGpus 1 minBytes 1024 maxBytes 1048576 step: 1024(factor) warmup iters: 5 iters: 20 agg iters: 1
#
# Using devices
#  Rank  0 Group  0 Pid   1001 on     node-a device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid   1002 on     node-a device  1 [0000:15:00] NVIDIA A100-SXM4-40GB
#  Rank  2 Group  0 Pid   1003 on     node-b device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB
#  Rank  3 Group  0 Pid   1004 on     node-b device  1 [0000:15:00] NVIDIA A100-SXM4-40GB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        1024           256     float     sum      -1    20.00    0.05    0.08      0    19.50    0.05    0.08      0
     1048576        262144     float     sum      -1   100.00   10.49   15.73      0   105.00    9.99   14.98      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 7.7
"""

HPL = """================================================================================
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       10000   128     2     4              20.00             3.3340e+01
HPL_pdgesv() start time Mon Jan  4 10:00:00 2021

HPL_pdgesv() end time   Mon Jan  4 10:00:20 2021

--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.77e-03 ...... PASSED
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       20000   128     2     4             150.00             3.5560e+01
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   9.99e+05 ...... FAILED
"""

HPCG_TEXT = """HPCG-Benchmark
version=3.1
Release date=March 28, 2019
Machine Summary=
Machine Summary::Distributed Processes=32
Machine Summary::Threads per processes=2
Local Domain Dimensions=
Local Domain Dimensions::nx=104
Local Domain Dimensions::ny=104
Local Domain Dimensions::nz=52
########## Performance Summary (times in sec) ##########=
Benchmark Time Summary=
Benchmark Time Summary::DDOT=1.5
Benchmark Time Summary::MG=40.25
Benchmark Time Summary::Total=60
GFLOP/s Summary=
GFLOP/s Summary::Raw MG=22.5
Final Summary=
Final Summary::HPCG result is VALID with a GFLOP/s rate of=20.75
"""

HPCG_YAML = """HPCG-Benchmark version: 2.4
Machine Summary:
  Distributed Processes: 32
  Threads per processes: 2
Local Domain Dimensions:
  nx: 104
  ny: 104
  nz: 52
########## Performance Summary (times in sec) ##########:
Benchmark Time Summary:
  DDOT: 1.5
  MG: 40.25
  Total: 60
GFLOP/s Summary:
  Raw MG: 22.5
__________ Final Summary __________:
  HPCG result is VALID with a GFLOP/s rating of: 20.75
"""

STREAM = """-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
This system uses 8 bytes per array element.
-------------------------------------------------------------
Array size = 80000000 (elements), Offset = 0 (elements)
Each kernel will be executed 10 times.
-------------------------------------------------------------
Number of Threads requested = 8
Number of Threads counted = 8
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           40000.0     0.033000     0.032000     0.040000
Scale:          38000.0     0.034000     0.033684     0.036000
Add:            42000.0     0.046000     0.045714     0.050000
Triad:          42500.0     0.045900     0.045176     0.050196
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""

IOR_TEXT = """IOR-3.4.0+dev: MPI Coordinated Test of Parallel I/O
Began               : Thu Dec  3 19:27:06 2020
Options:
api                 : POSIX
nodes               : 4
tasks               : 64
clients per node    : 16
repetitions         : 2
xfersize            : 1 MiB

Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     1000.00    1000.50    0.060000    16384      1024.00    0.010000   1.0000     0.001000   1.0240     0
read      2000.00    2001.00    0.030000    16384      1024.00    0.010000   0.5000     0.001000   0.5120     0
write     800.00     801.00     0.070000    16384      1024.00    0.010000   1.2700     0.001000   1.2800     1
Max Write: 1000.00 MiB/sec (1048.58 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) Test#
write        1000.00     800.00     900.00     100.00    1000.00     800.00     900.00     100.00    1.15200     0
"""

IOR_SUMMARY = """IOR-3.0.1: MPI Coordinated Test of Parallel I/O
Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev    Mean(s) Test# #Tasks tPN reps fPP reord blksiz xsize aggs(MiB)
write        1000.00     800.00     900.00     100.00    1.15200     0     64  16    2   0     0 16777216 1048576 1024.0
"""

IOR_CSV = """access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter
write,1000.0000,1000.50,0.06,16384.0000,1024.0000,0.01,1.0,0.001,1.024,64,0
read,2000.0000,2001.00,0.03,16384.0000,1024.0000,0.01,0.5,0.001,0.512,64,0
"""

IOR_JSON = """{
  "Version": "3.3.0",
  "Began": "Wed Jan  6 10:00:00 2021",
  "tests": [
    {
      "TestID": 0,
      "Parameters": {"api": "POSIX"},
      "Options": {"api": "POSIX", "nodes": "4", "tasks": "64", "repetitions": "1"},
      "Results": [
        {
          "access": "write",
          "bwMiB": 1000.0,
          "blockKiB": 16384.0,
          "xferKiB": 1024.0,
          "iops": 1000.5,
          "totalTime": 1.024
        }
      ]
    }
  ],
  "summary": []
}
"""

MDTEST = """-- started at 04/03/2025 14:39:30 --

mdtest-4.0.0 was launched with 128 total task(s) on 8 node(s)
Command line used: mdtest '-I' '128' '-i' '3' '-F'
128 tasks, 16384 files

SUMMARY rate (in ops/sec): (of 3 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation                7200.000       6800.000       7000.000        150.000
   File stat                   97000.000      58000.000      91000.000      12000.000
   File read                       0.000          0.000          0.000          0.000
   Tree removal                  100.000         90.000         95.000          4.000
-- finished at 04/03/2025 14:40:30 --
"""

PICO = """collective_type,algo_name,nnodes,tasks_per_node,array_dim,buffer_size,datatype,n_iter,min,percentile_10,\
percentile_25,median,mean,percentile_75,percentile_90,max,std
BCAST,binomial,2x2x2,4,256,1024,int32,100,8000.0,8100.0,8200.0,9000.0,9100.0,9500.0,9900.0,20000.0,500.0
ALLTOALL,pairwise,4,2,8,32,int32,50,1000.0,1100.0,1200.0,1500.0,1510.0,1600.0,1700.0,2000.0,50.0
"""

CALIPER = """file,ranks,problem_size,cluster,region,avg#inclusive#sum#time.duration,max#inclusive#sum#time.duration,\
min#inclusive#sum#time.duration,sum#inclusive#sum#time.duration
a.cali,27,30,opal,main,40.5,41.0,40.0,1093.5
a.cali,27,30,opal,MPI_Allreduce,2.5,5.0,1.0,67.5
b.cali,64,30,opal,main,42.0,42.5,41.5,2688.0
b.cali,64,30,opal,MPI_Allreduce,,,,
"""

HATCHET = """node,rank,nid,time (s),time (inc) (s),name
"{'name': 'main'}",0,0,1.5,10.0,main
"{'name': 'main'}",1,0,1.25,10.0,main
"{'name': 'solve'}",0,1,8.5,8.5,solve
"""

SMPI_PING_PONG = """MPI_Send,1024,0.100000,1.000000e-05
MPI_Recv,1024,0.100000,3.000000e-05
MPI_Send,1024,0.200000,1.200000e-05
MPI_Recv,1024,0.200000,3.200000e-05
"""

SMPI_RECEIVE = """MPI_Recv,1024,0.100000,3.000000e-06
MPI_Recv,2048,0.200000,4.000000e-06
"""

#: Two pairs, (0, 2) and (1, 3); the second begins after two messages of the first.
SMPI_LOAD = """0,MPI_Send,4000000,10.000000,5.000000e+00
0,MPI_Send,4000000,15.000000,5.000000e+00
0,MPI_Send,4000000,30.000000,8.000000e+00
0,MPI_Send,4000000,38.000000,8.000000e+00
1,MPI_Send,4000000,30.100000,8.000000e+00
1,MPI_Send,4000000,38.100000,8.000000e+00
2,MPI_Send,4000000,9.900000,5.000000e+00
2,MPI_Send,4000000,15.000000,5.000000e+00
2,MPI_Send,4000000,30.000000,8.000000e+00
2,MPI_Send,4000000,38.000000,8.000000e+00
3,MPI_Send,4000000,30.100000,8.000000e+00
3,MPI_Send,4000000,38.100000,8.000000e+00
"""

OSU_NON_BLOCKING = """
# OSU MPI Non-blocking Allreduce Latency Test v7.4
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Datatype: MPI_CHAR.
# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)        Validation
1                      30.00             18.00             20.00             40.00              Pass
1024                   60.00             35.00             50.00             50.00              Fail
# OSU MPI Non-blocking Barrier Latency Test v5.6.2
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

       Overall(us)       Compute(us)    Coll. Init(us)      MPI_Test(us)      MPI_Wait(us)    Pure Comm.(us)\
     Min Comm.(us)     Max Comm.(us)        Overlap(%)
             90.00             68.00              6.00              0.00             16.00             64.00\
             60.00             66.00             65.50
"""

OSU_OPTIONS = """# OSU MPI Allgather Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations        Validation  P50 Tail Lat(us)
8                       5.00              4.00              6.00        1000              Pass              4.80
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size          Latency (us)        Validation     Transmit Size
16                      1.50              Pass                16
# Number of Sender threads: 2
# Number of Receiver threads: 4
# OSU MPI Multi-threaded Latency Test v5.9
# Size          Latency (us)
8                       9.00
# OSU MPI Multi-threaded Latency Test v7.4
# Number of Sender threads: 1
# Number of Receiver threads: 3
# Datatype: MPI_CHAR.
# Size          Latency (us)
8                       7.00
# OSU MPI Latency Test v7.4
# Size          Latency (us)
32                      1.75
# OSU MPI Bcast Persistent Latency Test v7.4
# Size       Avg Latency(us)
4                       2.00
# OSU MPI Multi Latency Test v7.4
# Size          Latency (us)
2                       3.00
# OSU MPI-CUDA Latency Test v7.5
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                       2.40
# OSU MPI Multi-process Latency Test v5.7
# Number of forked processes in sender: 2
# Number of forked processes in receiver: 3
# Size          Latency (us)
4                      48.00
"""

IMB_WINDOWS = """#    Intel(R) MPI Benchmarks 2019 Update 5, MPI-1 part
# Benchmarking Uniband
# #processes = 2
       #bytes #repetitions   Mbytes/sec      Msg/sec
            0         1000         0.00      4000000
         1000         1000      1000.00      1000000
      1000000           40      9900.00         9900
# Benchmarking Uniband
# #processes = 9
# ( 1 additional process waiting in MPI_Barrier)
       #bytes #repetitions   Mbytes/sec      Msg/sec
      1000000           40     12000.00        12000
# Benchmarking Biband
# #processes = 2
       #bytes #repetitions   Mbytes/sec      Msg/sec
      1000000           40     18000.00        18000
"""

IMB_MULTI = """#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
# Benchmarking Allgather
# #processes = 120
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
          512         1000       100.00       200.00       150.00
# Benchmarking Multi-Allgather
# ( 60 groups of 2 processes each running simultaneous )
# Group  0:     0    1
#
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
          512         1000        30.00        40.00        35.00
# Benchmarking Multi-PingPong
# ( 2 groups of 2 processes each running simultaneous )
        Group       #bytes #repetitions      t[usec]   Mbytes/sec

            0         1024         1000        10.00       102.40
            1         1024         1000        11.00        93.09

            0   1073741824 out-of-mem.; needed X=   4.000 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)

# Benchmarking Alltoall
# ( #processes = 4 ; rank order (rowwise):
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]      defects
            4         1000         4.00         6.00         5.00         0.00
   1073741824 int-overflow.; The production rank*size caused int overflow for given sample
    536870912 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X"
         4096         1000         8.00        10.00         9.00         0.00
# Benchmarking Reduce_scatter_block
# #processes = 4
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
          256         1000         3.00         5.00         4.00
"""

IMB_OTHERS = """#    Intel(R) MPI Benchmarks 2021.3, MPI-2 part
# Benchmarking Unidir_Put
# #processes = 2
#
#    MODE: AGGREGATE
#
       #bytes #repetitions      t[usec]   Mbytes/sec
         1024         1000         0.50      2048.00
# Benchmarking Unidir_Put
# #processes = 2
#
#    MODE: NON-AGGREGATE
#
       #bytes #repetitions      t[usec]   Mbytes/sec
         1024          100         3.00       341.33
#    Intel(R) MPI Benchmarks 2021.3, NBC part
# Benchmarking Ialltoall
# #processes = 4
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
         1024         1000        60.00        40.00        38.00        45.00
# Benchmarking Ibcast_pure
# #processes = 4
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1024         1000         7.00         9.00         8.00
# Benchmarking Ibarrier
# #processes = 4
 #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
         1000        30.00        20.00        19.00        50.00
#    Intel(R) MPI Benchmarks 2021.3, MT part
# Benchmarking PingPongMT
# #processes = 2 (threads: 4)
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
         4096         1000         5.00         7.00         6.00       585.14
#    Intel(R) MPI Benchmarks 2021.3, MPI-IO part
# Benchmarking P_Write_indv
# #processes = 4
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
         1024           10        90.00       110.00       100.00        37.24
# All processes entering MPI_Finalize
1 line of a job's script
"""

NCCL_TIMES = """#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""

NCCL_ALLGATHER = f"""+ mpirun -np 4 ./build/all_gather_perf -b 4096 -e 4096
# nThread 1 nGpus 4 minBytes 4096 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
{NCCL_TIMES}        4096           256     float    none      -1    20.00    0.20    0.15    N/A    19.50    0.21    0.16    N/A
"""

#: Rows of old versions leave out a blank redop and root.
NCCL_OLD = """# nThread 1 nGpus 4 minBytes 4096 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           0             0   float            10.00    0.00    0.00  0e+00     9.00    0.00    0.00  0e+00
        4096           256   float            20.00    0.20    0.15  0e+00    19.50    0.21    0.16    N/A
"""

NCCL_EACH = """# nccl-tests version 2.18.3 nccl-headers=23003 nccl-library=23003
# Collective test starting: broadcast_perf
# nThread 1 nGpus 1 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1
# Using devices
#  Rank  0 Group  0 Pid   1001 on     node-a device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid   1002 on     node-a device  1 [0000:15:00] NVIDIA A100-SXM4-40GB
#              out-of-place (+ per-iteration)                                in-place (+ per-iteration)
#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%\
     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%            timestamp
        1024           256     float    none       0    20.00    0.05    0.05       0    18.00    25.00    24.00     3.10\
    19.00    0.05    0.05       0    17.00    24.00    23.00     3.00  2025-11-26 12:00:00
# Collective test concluded: broadcast_perf
#
# Collective test starting: sendrecv_perf
# nThread 1 nGpus 1 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1
# Using devices
#  Rank  0 Group  0 Pid   1001 on     node-a device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid   1002 on     node-a device  1 [0000:15:00] NVIDIA A100-SXM4-40GB
#  Rank  2 Group  1 Pid   1003 on     node-b device  0 [0000:0f:00] NVIDIA A100-SXM4-40GB
#  Rank  3 Group  1 Pid   1004 on     node-b device  1 [0000:15:00] NVIDIA A100-SXM4-40GB
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        1024           256     float     sum      -1    30.00    0.05    0.05      0    29.00    0.05    0.05    N/A
"""

NCCL_JSON = """{"version":2,"start_time":"2025-11-26 12:00:00","args":["./build/alltoall_perf","-g","4","-J","out.json"],\
"env":["HOME=/home/me"],"nccl_version":23003,"config":{"nthreads":1,"ngpus":4,"minimum_bytes":4096,\
"devices":[{"rank":0,"group":0,"pid":7,"hostname":"node-a","device":0,"device_hex":"0000:0f:00","device_info":"X"},\
{"rank":4,"group":0,"pid":7,"hostname":"node-b","device":0,"device_hex":"0000:0f:00","device_info":"X"}]},"results":[
{"size":8192,"count":256,"type":"float","redop":"none","root":"    -1","out_of_place":{"time":20.5,"alg_bw":0.4,\
"bus_bw":0.3,"nwrong":0.0},"out_of_place_per_iter":{"min_us":19.0,"max_us":23.0,"times_us":[19.0,23.0]},\
"in_place":{"time":21.5,"alg_bw":0.4,"bus_bw":0.3,"nwrong":null},"actual_iterations":20,"experiment_name":"x"},
{"size":16384,"count":512,"type":"float","redop":"none","root":"    -1","out_of_place":null,\
"in_place":{"time":31.5,"alg_bw":0.4,"bus_bw":0.3,"nwrong":null},"actual_iterations":20,"experiment_name":"x"}],\
"out_of_bounds":{"count":0,"okay":"true"},"errors":[],"end_time":"2025-11-26 12:01:00"}
"""

HPCC = """########################################################################
This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012
########################################################################
Begin of PTRANS section.
WALL 14142 14142 112 112   4   4     0.62 PASSED    2.588  0.00
End of PTRANS section.
Begin of StarSTREAM section.
Array size = 16666347, Offset = 0
Each test is run 10 times.
Function      Rate (GB/s)   Avg time     Min time     Max time
Triad:          3.0000       0.1400       0.1300       0.1400
Node(s) with error 0
Minimum Triad GB/s 2.500000
Average Triad GB/s 3.500000
Maximum Triad GB/s 4.500000
End of StarSTREAM section.
Begin of SingleSTREAM section.
Node(s) with error 0
Node selected 5
Single STREAM Triad GB/s 9.000000
End of SingleSTREAM section.
Begin of HPL section.
================================================================================
HPLinpack 2.0  --  High-Performance Linpack benchmark  --   September 10, 2008
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
WR03R3R4       28284   112     4     4             125.00              1.207e+02
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0036127 ...... PASSED
End of HPL section.
Begin of Summary section.
CommWorldProcs=16
"""

GEMM = """# products on one accelerator
m,n,k,type,us
128,256,512,bf16,31.5
8192,12288,12288,fp16,9000
"""

GEMM_PLAIN = """64, 12288, 12288, 0.19ms, 101.7Tflops
128, 64, 64, 29 us
"""

TRAINING = """------------------------ arguments ------------------------
  global_batch_size ............................... 512
  hidden_size ..................................... 6144
  micro_batch_size ................................ 8
  num_layers ...................................... 40
  pipeline_model_parallel_size .................... 1
  tensor_model_parallel_size ...................... 8
  world_size ...................................... 256
-------------------- end of arguments ---------------------
 iteration       10/     100 | consumed samples: 5120 | elapsed time per iteration (ms): 9123.4 | learning rate: 1.5E-04 | global batch size:   512 | lm loss: 9.1E+00 |
 iteration       20/     100 | consumed samples: 10240 | elapsed time per iteration (ms): 5012.5 | learning rate: 1.5E-04 | global batch size:   512 | lm loss: 8.7E+00 |
 iteration       30/     100 | consumed samples: 15360 | elapsed time per iteration (ms): 5022.5 | learning rate: 1.5E-04 | global batch size:   512 | lm loss: 8.4E+00 |
"""

#: Name of a file -> its format and what stands in it.
ALL = {
    "osu_latency.txt": ("osu", OSU_LATENCY),
    "osu_in_python.txt": ("osu", OSU_IN_PYTHON),
    "osu_full.txt": ("osu", OSU_FULL),
    "osu_bandwidths.out": ("osu", OSU_BANDWIDTHS),
    "osu_non_blocking.txt": ("osu", OSU_NON_BLOCKING),
    "osu_options.txt": ("osu", OSU_OPTIONS),
    "imb.txt": ("imb", IMB),
    "imb_windows.txt": ("imb", IMB_WINDOWS),
    "imb_multi.txt": ("imb", IMB_MULTI),
    "imb_others.txt": ("imb", IMB_OTHERS),
    "nccl.log": ("nccl", NCCL),
    "nccl_allgather.log": ("nccl", NCCL_ALLGATHER),
    "nccl_old.log": ("nccl", NCCL_OLD),
    "nccl_each.log": ("nccl", NCCL_EACH),
    "nccl.json": ("nccl", NCCL_JSON),
    "HPL.out": ("hpl", HPL),
    "hpcg.txt": ("hpcg", HPCG_TEXT),
    "hpcg.yaml": ("hpcg", HPCG_YAML),
    "stream.txt": ("stream", STREAM),
    "ior.out": ("ior", IOR_TEXT),
    "ior_summary.txt": ("ior", IOR_SUMMARY),
    "ior.csv": ("ior", IOR_CSV),
    "ior.json": ("ior", IOR_JSON),
    "mdtest.txt": ("mdtest", MDTEST),
    "gemm.csv": ("gemm", GEMM),
    "gemm_plain.csv": ("gemm", GEMM_PLAIN),
    "training.log": ("training", TRAINING),
    "pico.csv": ("pico", PICO),
    "caliper.csv": ("caliper", CALIPER),
    "hatchet.csv": ("caliper", HATCHET),
    "x_PingPong.csv": ("smpi", SMPI_PING_PONG),
    "x_Recv.csv": ("smpi", SMPI_RECEIVE),
    "load_send.csv": ("smpi", SMPI_LOAD),
}
