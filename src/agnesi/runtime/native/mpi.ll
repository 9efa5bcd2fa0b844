; The same collectives by an MPI library, whose C functions are called by their addresses.
;
; Processes of one machine wait for each other in the memory that they share, where they compare what
; they are about to do, and then call what takes its time but does not wait.  Others, and letters, are
; begun and then waited for, so that a wait has an end.  Handles are numbers in some libraries
; and pointers in others: 64 bits hold both, and a number is read from the lower half.
;
; The table (64-bit words): 0 communicator, 1 MPI_Test, 2 the type of bytes, 3 that of 64-bit integers,
; 4 the greatest of some, 5 whether processes compare what they are about to do; from 8 on the
; functions by kind that begin; from 16 on the types, from 32 on the operations of reductions by their
; numbers; from 48 on the functions by kind that do it, if all processes are on one machine.

; Wait for what was begun, with process %peer; what the library says is bad is 4.
define internal i32 @await_mpi(ptr %g, ptr %table, i32 %begun, ptr %request, i64 %peer) nounwind {
entry:
  %status = alloca [256 x i8], align 16
  %flag = alloca i32
  store i32 0, ptr %flag
  %test = call ptr @function_of(ptr %table, i64 1)
  %spins = call i64 @word(ptr %g, i64 {spins})
  %yields = add i64 %spins, {polling}
  %refused = icmp ne i32 %begun, 0
  br i1 %refused, label %bad, label %look
look:
  %turn = phi i64 [0, %entry], [%next, %spin], [%next, %give], [%next, %sleep], [%yields, %ask]
  %said = call i32 %test(ptr %request, ptr %flag, ptr %status)
  %wrong = icmp ne i32 %said, 0
  br i1 %wrong, label %bad, label %see
see:
  %over = load i32, ptr %flag
  %there = icmp ne i32 %over, 0
  br i1 %there, label %done, label %tired
tired:
  %next = add i64 %turn, 1
  %fresh = icmp ult i64 %turn, %spins
  br i1 %fresh, label %spin, label %tired2
spin:
  call void @relax()
  br label %look
tired2:
  %awake = icmp ult i64 %turn, %yields
  br i1 %awake, label %give, label %tired3
give:
  %ignored = call i32 @sched_yield()
  br label %look
tired3:
  %slept = sub i64 %turn, %yields
  %long = icmp uge i64 %slept, {naps}
  br i1 %long, label %ask, label %sleep
sleep:
  %ignored2 = call i32 @usleep(i32 100)
  br label %look
ask:
  %checker = call i64 @word(ptr %g, i64 {checker})
  %asked = inttoptr i64 %checker to ptr
  %told = call i32 %asked(i64 %peer)
  %useless = icmp ne i32 %told, 0
  br i1 %useless, label %failed, label %look
failed:
  ret i32 %told
bad:
  ret i32 4
done:
  ret i32 0
}

; Whether all finish collective %number, which the first one decides that has seen all others, or has
; given up: at least %number if they do, else -1.
define internal i64 @decide(ptr %g, i64 %number, i64 %wanted) nounwind {
entry:
  %base = load ptr, ptr %g
  %word = getelementptr i8, ptr %base, i64 128
  br label %look
look:
  %now = load atomic i64, ptr %word seq_cst, align 8
  %never = icmp slt i64 %now, 0
  %already = icmp sge i64 %now, %number
  %over = or i1 %never, %already
  br i1 %over, label %done, label %try
try:
  %pair = cmpxchg ptr %word, i64 %now, i64 %wanted seq_cst seq_cst
  br label %look
done:
  ret i64 %now
}

define internal ptr @function_of(ptr %table, i64 %i) nounwind alwaysinline {
  %address = call i64 @word(ptr %table, i64 %i)
  %f = inttoptr i64 %address to ptr
  ret ptr %f
}

; Whether all processes are about to do the same: a digest is the greatest and the least of all.
define internal i32 @compare(ptr %g, ptr %table, ptr %block) nounwind {
entry:
  ; Not on the stack: the library may write there after a wait that was given up.
  %rank = call i64 @word(ptr %g, i64 {rank})
  %control = call ptr @control(ptr %g, i64 %rank)
  %mine = getelementptr i8, ptr %control, i64 7680
  %all = getelementptr i8, ptr %control, i64 7744
  %request = alloca i64
  store i64 0, ptr %request
  %ndim = call i64 @word(ptr %block, i64 4)
  %end = add i64 %ndim, 5
  br label %head
head:
  %i = phi i64 [0, %entry], [%i1, %head]
  %digest = phi i64 [1469598103934665603, %entry], [%digest1, %head]
  %w = call i64 @word(ptr %block, i64 %i)
  %mixed = xor i64 %digest, %w
  %digest0 = mul i64 %mixed, 1099511628211
  %down = lshr i64 %digest0, 29
  %digest1 = xor i64 %digest0, %down
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %end
  br i1 %more, label %head, label %ask
ask:
  %not = xor i64 %digest1, -1
  call void @set(ptr %mine, i64 0, i64 %digest1)
  call void @set(ptr %mine, i64 1, i64 %not)
  %comm = call i64 @word(ptr %table, i64 0)
  %long = call i64 @word(ptr %table, i64 3)
  %greatest = call i64 @word(ptr %table, i64 4)
  %reduce = call ptr @function_of(ptr %table, i64 9)
  %begun = call i32 %reduce(ptr %mine, ptr %all, i64 2, i64 %long, i64 %greatest, i64 %comm, ptr %request)
  %told = call i32 @await_mpi(ptr %g, ptr %table, i32 %begun, ptr %request, i64 0)
  %bad = icmp ne i32 %told, 0
  br i1 %bad, label %failed, label %judge
failed:
  ret i32 %told
judge:
  %most = call i64 @word(ptr %all, i64 0)
  %least = call i64 @word(ptr %all, i64 1)
  %one = icmp eq i64 %most, %digest1
  %other = icmp eq i64 %least, %not
  %same = and i1 %one, %other
  %result = select i1 %same, i32 0, i32 2
  ret i32 %result
}

define internal i32 @through_mpi(ptr %g, ptr %table, i64 %kind, i64 %how, i64 %code, i64 %peer, i64 %item, ptr %in, ptr %out, i64 %bytes, ptr %sizes, i64 %ndim, ptr %text) nounwind {
entry:
  %request = alloca i64
  store i64 0, ptr %request
  %comm = call i64 @word(ptr %table, i64 0)
  %byte = call i64 @word(ptr %table, i64 2)
  %slot = add i64 %kind, 8
  %f = call ptr @function_of(ptr %table, i64 %slot)
  %type.at = add i64 %how, 16
  %type = call i64 @word(ptr %table, i64 %type.at)
  %op.at = add i64 %how, 32
  %op = call i64 @word(ptr %table, i64 %op.at)
  %n = udiv i64 %bytes, %item
  %rank = call i64 @word(ptr %g, i64 {rank})
  %single = icmp uge i64 %kind, 6
  %comparing = call i64 @word(ptr %table, i64 5)
  %wanted = icmp ne i64 %comparing, 0
  br i1 %single, label %letter, label %say
letter:
  %control = call ptr @control(ptr %g, i64 %rank)
  %mine = getelementptr i8, ptr %control, i64 4096
  %theirs = getelementptr i8, ptr %control, i64 6144
  call void @sign(ptr %mine, i64 0, i64 6, i64 %code, i64 0, ptr %sizes, i64 %ndim, ptr %text)
  call void @now(ptr %g, i64 4096)
  br i1 %wanted, label %head, label %begin
head:
  ; Before a letter goes what it is, which the receiver compares with what it expects.
  %sending = icmp eq i64 %kind, 6
  br i1 %sending, label %head.send, label %head.get
head.send:
  %h6 = call i32 %f(ptr %mine, i64 1296, i64 %byte, i64 %peer, i64 6, i64 %comm, ptr %request)
  br label %head.wait
head.get:
  %h7 = call i32 %f(ptr %theirs, i64 1296, i64 %byte, i64 %peer, i64 6, i64 %comm, ptr %request)
  br label %head.wait
head.wait:
  %head.begun = phi i32 [%h6, %head.send], [%h7, %head.get]
  %head.told = call i32 @await_mpi(ptr %g, ptr %table, i32 %head.begun, ptr %request, i64 %peer)
  %head.bad = icmp ne i32 %head.told, 0
  br i1 %head.bad, label %head.failed, label %head.look
head.failed:
  ret i32 %head.told
head.look:
  br i1 %sending, label %begin, label %head.compare
head.compare:
  %alike = call i1 @agree(ptr %mine, ptr %theirs)
  br i1 %alike, label %begin, label %head.differ
head.differ:
  ret i32 2
say:
  %before = call i64 @word(ptr %g, i64 {calls})
  %number = add i64 %before, 1
  call void @set(ptr %g, i64 {calls}, i64 %number)
  %block = call ptr @signature(ptr %g, i64 %rank, i64 %number)
  call void @sign(ptr %block, i64 %number, i64 %kind, i64 %code, i64 %peer, ptr %sizes, i64 %ndim, ptr %text)
  call void @now_in(ptr %g, i64 %number)
  %near = call i64 @word(ptr %table, i64 48)
  %far.apart = icmp eq i64 %near, 0
  br i1 %far.apart, label %compare.if, label %meet
meet:
  call void @set(ptr %g, i64 {fresh}, i64 1)
  %met = call i32 @step(ptr %g)
  %differ.here = icmp eq i32 %met, 2
  br i1 %differ.here, label %not.there, label %decide
not.there:
  ret i32 %met
decide:
  %going = icmp eq i32 %met, 0
  %target = select i1 %going, i64 %number, i64 -1
  %decided = call i64 @decide(ptr %g, i64 %number, i64 %target)
  %on = icmp sge i64 %decided, %number
  br i1 %on, label %call, label %stop
stop:
  br i1 %going, label %ask.why, label %not.there
ask.why:
  %checker = call i64 @word(ptr %g, i64 {checker})
  %asked = inttoptr i64 %checker to ptr
  %why = call i32 %asked(i64 %rank)
  ret i32 %why
call:
  %do.at = add i64 %kind, 48
  %d = call ptr @function_of(ptr %table, i64 %do.at)
  switch i64 %kind, label %do.barrier [
    i64 1, label %do.reduce
    i64 2, label %do.gather
    i64 3, label %do.scatter
    i64 4, label %do.spread
    i64 5, label %do.turn
  ]
do.barrier:
  br label %called
do.reduce:
  %c1 = call i32 %d(ptr %in, ptr %out, i64 %n, i64 %type, i64 %op, i64 %comm)
  br label %called
do.gather:
  %c2 = call i32 %d(ptr %in, i64 %bytes, i64 %byte, ptr %out, i64 %bytes, i64 %byte, i64 %comm)
  br label %called
do.scatter:
  %c3 = call i32 %d(ptr %in, ptr %out, i64 %n, i64 %type, i64 %op, i64 %comm)
  br label %called
do.spread:
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %in, i64 %bytes, i1 false)
  %c4 = call i32 %d(ptr %out, i64 %bytes, i64 %byte, i64 %peer, i64 %comm)
  br label %called
do.turn:
  %c5 = call i32 %d(ptr %in, i64 %bytes, i64 %byte, ptr %out, i64 %bytes, i64 %byte, i64 %comm)
  br label %called
called:
  %said = phi i32 [0, %do.barrier], [%c1, %do.reduce], [%c2, %do.gather], [%c3, %do.scatter], [%c4, %do.spread], [%c5, %do.turn]
  %good = icmp eq i32 %said, 0
  br label %result.of
result.of:
  %at.once = select i1 %good, i32 %met, i32 4
  br label %done.if
compare.if:
  br i1 %wanted, label %compare, label %begin
compare:
  %told = call i32 @compare(ptr %g, ptr %table, ptr %block)
  %differ = icmp ne i32 %told, 0
  br i1 %differ, label %failed, label %begin
failed:
  ret i32 %told
begin:
  switch i64 %kind, label %barrier [
    i64 1, label %reduce
    i64 2, label %gather
    i64 3, label %scatter
    i64 4, label %spread
    i64 5, label %turn
    i64 6, label %send
    i64 7, label %get
  ]
barrier:
  %b0 = call i32 %f(i64 %comm, ptr %request)
  br label %wait
reduce:
  %b1 = call i32 %f(ptr %in, ptr %out, i64 %n, i64 %type, i64 %op, i64 %comm, ptr %request)
  br label %wait
gather:
  %b2 = call i32 %f(ptr %in, i64 %bytes, i64 %byte, ptr %out, i64 %bytes, i64 %byte, i64 %comm, ptr %request)
  br label %wait
scatter:
  %b3 = call i32 %f(ptr %in, ptr %out, i64 %n, i64 %type, i64 %op, i64 %comm, ptr %request)
  br label %wait
spread:
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %in, i64 %bytes, i1 false)
  %b4 = call i32 %f(ptr %out, i64 %bytes, i64 %byte, i64 %peer, i64 %comm, ptr %request)
  br label %wait
turn:
  %b5 = call i32 %f(ptr %in, i64 %bytes, i64 %byte, ptr %out, i64 %bytes, i64 %byte, i64 %comm, ptr %request)
  br label %wait
send:
  %b6 = call i32 %f(ptr %in, i64 %bytes, i64 %byte, i64 %peer, i64 7, i64 %comm, ptr %request)
  br label %wait
get:
  %b7 = call i32 %f(ptr %out, i64 %bytes, i64 %byte, i64 %peer, i64 7, i64 %comm, ptr %request)
  br label %wait
wait:
  %begun = phi i32 [%b0, %barrier], [%b1, %reduce], [%b2, %gather], [%b3, %scatter], [%b4, %spread], [%b5, %turn], [%b6, %send], [%b7, %get]
  %end = call i32 @await_mpi(ptr %g, ptr %table, i32 %begun, ptr %request, i64 %peer)
  br label %done.if
done.if:
  %result = phi i32 [%end, %wait], [%at.once, %result.of]
  %reducing = icmp eq i64 %kind, 1
  %for.one = icmp sge i64 %peer, 0
  %for.other = icmp ne i64 %peer, %rank
  %some = and i1 %reducing, %for.one
  %clear = and i1 %some, %for.other
  br i1 %clear, label %nothing, label %done
nothing:
  call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 %bytes, i1 false)
  br label %done
done:
  ret i32 %result
}
