"""Outputs of benchmarks, made by hand after the documentation of their formats; no machine has printed these numbers."""

OSU_LATENCY = """
# OSU MPI Latency Test v5.6.2
# Size          Latency (us)
0                       1.05
1                       1.06
1024                    1.50
4096                    2.25
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

#: Name of a file -> its format and what stands in it.
ALL = {
    "osu_latency.txt": ("osu", OSU_LATENCY),
    "osu_full.txt": ("osu", OSU_FULL),
    "osu_bandwidths.out": ("osu", OSU_BANDWIDTHS),
    "imb.txt": ("imb", IMB),
    "nccl.log": ("nccl", NCCL),
    "HPL.out": ("hpl", HPL),
    "hpcg.txt": ("hpcg", HPCG_TEXT),
    "hpcg.yaml": ("hpcg", HPCG_YAML),
    "stream.txt": ("stream", STREAM),
    "ior.out": ("ior", IOR_TEXT),
    "ior_summary.txt": ("ior", IOR_SUMMARY),
    "ior.csv": ("ior", IOR_CSV),
    "ior.json": ("ior", IOR_JSON),
    "mdtest.txt": ("mdtest", MDTEST),
    "pico.csv": ("pico", PICO),
    "caliper.csv": ("caliper", CALIPER),
    "hatchet.csv": ("caliper", HATCHET),
    "x_PingPong.csv": ("smpi", SMPI_PING_PONG),
    "x_Recv.csv": ("smpi", SMPI_RECEIVE),
    "load_send.csv": ("smpi", SMPI_LOAD),
}
