//! From data to a tree of core forms.
//!
//! Owns scopes, macros and the meaning of every special form; knows nothing of code or execution.
//! Recursion follows the nesting of forms; `stack` bounds it and finds room for it.

pub(crate) mod body;
pub(crate) mod derived;
pub(crate) mod expand;
pub(crate) mod library;
pub(crate) mod primitive;
pub(crate) mod quasi;
pub(crate) mod records;
pub(crate) mod rules;
pub(crate) mod scopes;
pub(crate) mod strip;
pub(crate) mod upkeep;

use crate::error::Position;
use crate::value::Value;

/// A local variable, unique within a top-level form.
pub(crate) type Var = u32;

/// What is known of a local variable.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variable {
    /// It is assigned, or may be seen before its definition: it lives in a cell.
    pub(crate) in_cell: bool,
    pub(crate) references: u32,
}

/// A core form.
#[derive(Debug)]
pub(crate) enum Node {
    Const(Value),
    Local(Var),
    Global(u32, Option<Position>),
    SetLocal(Var, Box<Node>),
    SetGlobal(u32, Box<Node>, Option<Position>),
    Define(u32, Box<Node>),
    /// Tests in order with what follows each, and what follows when none holds.
    Cond(Vec<(Node, Node)>, Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Seq(Vec<Node>),
    Lambda(Box<Lambda>),
    CaseLambda(Vec<Lambda>),
    Call(Box<Node>, Vec<Node>, Option<Position>),
    /// Variables with their values, each evaluated before the next.
    Let(Vec<(Var, Node)>, Box<Node>),
    /// Definitions in order, which may refer to each other; no variable means only an effect.
    Letrec(Vec<(Option<Var>, Node)>, Box<Node>),
    /// A named `let`: the name, the procedure, the first arguments.
    Loop(Var, Box<Lambda>, Vec<Node>),
}

/// A procedure.
#[derive(Debug)]
pub(crate) struct Lambda {
    pub(crate) required: Vec<Var>,
    pub(crate) rest: Option<Var>,
    pub(crate) body: Node,
}

impl Node {
    pub(crate) fn unspecified() -> Self {
        Self::Const(Value::UNSPECIFIED)
    }

    pub(crate) fn sequence(mut nodes: Vec<Node>) -> Self {
        match (nodes.len(), nodes.pop()) {
            (1, Some(node)) => node,
            (_, Some(last)) => {
                nodes.push(last);
                Self::Seq(nodes)
            }
            (_, None) => Self::unspecified(),
        }
    }

    /// Moves the nodes inside this one to a list.
    fn give_children(&mut self, list: &mut Vec<Node>) {
        let take = |node: &mut Node| std::mem::replace(node, Self::unspecified());
        match self {
            Self::Const(_) | Self::Local(_) | Self::Global(..) => {}
            Self::SetLocal(_, node) | Self::SetGlobal(_, node, _) | Self::Define(_, node) => {
                list.push(take(node));
            }
            Self::Cond(arms, otherwise) => {
                for (test, then) in arms.drain(..) {
                    list.extend([test, then]);
                }
                list.push(take(otherwise));
            }
            Self::And(nodes) | Self::Or(nodes) | Self::Seq(nodes) => list.append(nodes),
            Self::Lambda(lambda) => list.push(take(&mut lambda.body)),
            Self::CaseLambda(lambdas) => {
                list.extend(lambdas.iter_mut().map(|lambda| take(&mut lambda.body)));
            }
            Self::Call(operator, operands, _) => {
                list.push(take(operator));
                list.append(operands);
            }
            Self::Let(bindings, body) => {
                list.extend(bindings.drain(..).map(|(_, node)| node));
                list.push(take(body));
            }
            Self::Letrec(steps, body) => {
                list.extend(steps.drain(..).map(|(_, node)| node));
                list.push(take(body));
            }
            Self::Loop(_, lambda, values) => {
                list.push(take(&mut lambda.body));
                list.append(values);
            }
        }
    }

    pub(crate) fn branch(test: Node, then: Node, otherwise: Node) -> Self {
        Self::Cond(vec![(test, then)], Box::new(otherwise))
    }
}

/// Without recursion, so that the deepest tree can be dropped on any stack.
impl Drop for Node {
    fn drop(&mut self) {
        let mut pending = Vec::new();
        self.give_children(&mut pending);
        while let Some(mut node) = pending.pop() {
            node.give_children(&mut pending);
        }
    }
}
